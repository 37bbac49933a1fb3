"""Reading labelled images: digits, CIFAR in both its layouts, (Tiny-)ImageNet, or class folders."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hypergraph.datasets.stable_random import StableRandom
from hypergraph.datasets.unpickle import ARRAYS, InertArray, restricted_load
from hypergraph.errors import InputError
from hypergraph.files import reading, regular_file
from hypergraph.limits import require
from hypergraph.progress import progress

# Where the archives of a dataset unpack to.
FOLDERS = {
    "cifar10": ("cifar10", "cifar-10-batches-bin", "cifar-10-batches-py"),
    "cifar100": ("cifar100", "cifar-100-binary", "cifar-100-python"),
    "tiny-imagenet": ("tiny-imagenet", "tiny-imagenet-200"),
    "imagenet": ("imagenet", "ILSVRC2012"),
}
NAMES = ("digits", *FOLDERS)
_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".tif", ".tiff"}
# Pillow goes by the contents, and would have others run PostScript that is called .png.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "PPM", "TIFF")
# Decoded once and kept where all of them take no more than this; else decoded batch by batch.
_KEEP_BYTES = 2 << 30
TEST_SHARE = 0.2


class Images(Protocol):
    """Labelled images, of which a batch can be had: ``(batch, channels, height, width)`` bytes."""

    @property
    def labels(self) -> NDArray[np.int64]: ...

    def batch(self, index: NDArray[np.int64]) -> NDArray[np.uint8]: ...


@dataclass(frozen=True)
class MemoryImages:
    """Images in memory."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def batch(self, index: NDArray[np.int64]) -> NDArray[np.uint8]:
        return self.pixels[index]


@dataclass(frozen=True)
class FileImages:
    """Images in files: each is scaled so that its shorter side is ``size`` and cut to the square middle."""

    paths: Sequence[Path]
    labels: NDArray[np.int64]
    size: int

    def batch(self, index: NDArray[np.int64]) -> NDArray[np.uint8]:
        with warnings.catch_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
            warnings.filterwarnings("ignore", "Image size", Warning)  # decode refuses such an image
            return np.stack(list(pool.map(lambda i: decode(self.paths[i], self.size), index)))

    def kept(self) -> Images:
        """In memory, where there is room."""
        count = len(self.paths)
        if count * 3 * self.size**2 > _KEEP_BYTES:
            return self
        pixels = np.empty((count, 3, self.size, self.size), dtype=np.uint8)
        with progress("Decoding images", count) as report:
            for start in range(0, count, 256):
                part = np.arange(start, min(start + 256, count))
                pixels[part] = self.batch(part)
                report(start)
        return MemoryImages(pixels, self.labels)


@dataclass(frozen=True)
class ImageData:
    """A training and a test set, and the names of the classes."""

    name: str
    classes: tuple[str, ...]
    train: Images
    test: Images


def moments(images: Images) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of every channel (1 if it is constant); ImageNet's for images on disk."""
    if isinstance(images, MemoryImages):
        mean = images.pixels.mean((0, 2, 3), dtype=np.float64)
        square = np.stack([np.square(part, dtype=np.float64).mean((1, 2)) for part in images.pixels]).mean(0)
        variance = square - mean**2
        # of a constant channel rounding leaves anything near 0, also below it
        variance = np.where(variance > 1e-9, variance, 1.0)
        return mean.astype(np.float32), np.sqrt(variance).astype(np.float32)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return np.float32(255) * np.array(mean, np.float32), np.float32(255) * np.array(std, np.float32)


def load_images(
    name_or_path: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    size: int = 64,
    split_seed: int = 0,
) -> ImageData:
    """Load labelled images.

    Args:
        name_or_path: One of :data:`NAMES`, or a folder in one of their layouts: CIFAR's binary or Python
            batches, ``train`` and ``val`` (or ``test``) with class folders, or class folders alone.
        data: The folder that holds named datasets; by default ``HYPERGRAPH_DATA``.
        size: The side to which files are scaled. CIFAR and digits stay as they are.
        split_seed: The seed of the split where there is no test set.
    """
    if str(name_or_path) == "digits":
        return _digits(split_seed)
    folder = _locate(str(name_or_path), data)
    name = str(name_or_path) if str(name_or_path) in NAMES else folder.name
    binary, pickled = sorted(folder.glob("data_batch_*.bin")), sorted(folder.glob("data_batch_?"))
    if binary:
        parts = (binary, [folder / "test_batch.bin"])
        return _cifar(name, folder / "batches.meta.txt", 10, [_cifar_binary(p, 10, 1) for p in parts])
    if (folder / "train.bin").is_file():
        parts = ([folder / "train.bin"], [folder / "test.bin"])
        return _cifar(name, folder / "fine_label_names.txt", 100, [_cifar_binary(p, 100, 2) for p in parts])
    if pickled:
        parts = (pickled, [folder / "test_batch"])
        return _cifar(name, folder / "batches.meta", 10, [_cifar_pickled(p, 10) for p in parts])
    if (folder / "train").is_file():
        parts = ([folder / "train"], [folder / "test"])
        return _cifar(name, folder / "meta", 100, [_cifar_pickled(p, 100) for p in parts])
    return _class_folders(name, folder, size, split_seed)


def _locate(name: str, data: str | os.PathLike[str] | None) -> Path:
    given = data or os.environ.get("HYPERGRAPH_DATA")
    root = Path(given) if given else None
    places = [] if name in FOLDERS else [Path(name)]
    if root:
        places += [root / folder for folder in FOLDERS.get(name, (name,))]
    for place in places:
        if place.is_dir():
            return place
    if not root:
        remedy = "name the folder that holds it with --data or HYPERGRAPH_DATA"
        raise InputError(f"{name}: no such folder here, {remedy}. Known: {', '.join(NAMES)}.")
    wanted = " or ".join(FOLDERS.get(name, (name,)))
    raise InputError(f"{name}: {root} has no folder {wanted}. Known: {', '.join(NAMES)}.")


def _digits(seed: int) -> ImageData:
    from sklearn.datasets import load_digits

    whole = load_digits()
    pixels = (whole.images * (255 / 16)).round().astype(np.uint8)[:, None]
    labels = whole.target.astype(np.int64)
    train, test = _split(labels, seed)
    return ImageData(
        "digits",
        tuple(map(str, range(10))),
        MemoryImages(pixels[train], labels[train]),
        MemoryImages(pixels[test], labels[test]),
    )


def _split(labels: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training and test indices, with every class in proportion."""
    order = StableRandom(seed, "image-split").permutation(len(labels))
    train, test = [], []
    for label in np.unique(labels):
        members = order[labels[order] == label]
        cut = max(1, round(TEST_SHARE * len(members)))
        test.append(members[:cut])
        train.append(members[cut:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _cifar(name: str, names: Path, num_classes: int, parts: Sequence[MemoryImages]) -> ImageData:
    classes: Sequence[str] = [str(label) for label in range(num_classes)]
    if names.suffix == ".txt" and names.is_file():
        classes = _text(names).split()
    elif names.is_file():
        key = "label_names" if num_classes == 10 else "fine_label_names"
        meta = restricted_load(names, ARRAYS)
        found = meta.get(key) if isinstance(meta, dict) else None
        if not isinstance(found, list) or not all(isinstance(label, str) for label in found):
            raise InputError(f"{names}: no list of names '{key}' in it; download it again.")
        classes = found
    if len(classes) != num_classes:
        raise InputError(f"{names}: {len(classes)} class names, and the dataset has {num_classes} classes.")
    return ImageData(name, tuple(classes), parts[0], parts[1])


def _cifar_binary(paths: Sequence[Path], num_classes: int, label_bytes: int) -> MemoryImages:
    """Records of one label byte (CIFAR-100: a coarse one first) and 3072 pixels."""
    record = label_bytes + 3072
    parts = []
    for path in paths:
        content = np.frombuffer(_bytes(path), dtype=np.uint8)
        if not len(content) or len(content) % record:
            raise InputError(
                f"{path}: truncated, {len(content)} bytes are {len(content) // record} images of {record} "
                f"bytes and {len(content) % record} more; download it again."
            )
        rows = content.reshape(-1, record)
        _check_labels(path, rows[:, label_bytes - 1], num_classes)
        parts.append(rows)
    whole = np.concatenate(parts)
    pixels = np.ascontiguousarray(whole[:, label_bytes:]).reshape(-1, 3, 32, 32)
    return MemoryImages(pixels, whole[:, label_bytes - 1].astype(np.int64))


def _cifar_pickled(paths: Sequence[Path], num_classes: int) -> MemoryImages:
    pixels, labels = [], []
    for path in paths:
        whole = restricted_load(path, ARRAYS)
        key = "labels" if num_classes == 10 else "fine_labels"
        if not isinstance(whole, dict) or "data" not in whole or key not in whole:
            raise InputError(f"{path}: no 'data' and '{key}' in it; this is no batch of CIFAR-{num_classes}.")
        images, numbers = _plain(whole["data"], path), _plain(whole[key], path)
        if images.dtype != np.uint8 or images.shape != (len(numbers), 3072):
            raise InputError(
                f"{path}: truncated, {len(numbers)} labels and pixels of shape {images.shape}; "
                "download it again."
            )
        if numbers.dtype.kind not in "iu":
            raise InputError(f"{path}: labels that are no whole numbers; download it again.")
        _check_labels(path, numbers, num_classes)
        pixels.append(images.reshape(-1, 3, 32, 32))
        labels.append(numbers.astype(np.int64))
    return MemoryImages(np.concatenate(pixels), np.concatenate(labels))


def _plain(value: Any, path: Path) -> NDArray[Any]:
    """The numbers of an array, or of a flat list: one that nests could be made to fill the memory."""
    with reading(path, "a batch of CIFAR"):
        if isinstance(value, InertArray):
            return value.numbers()
        if not isinstance(value, list) or not all(type(number) is int for number in value):
            raise InputError(f"{path}: labels that are no list of whole numbers; download it again.")
        return np.array(value, dtype=np.int64)


def _check_labels(path: Path, labels: NDArray[Any], num_classes: int) -> None:
    wrong = np.flatnonzero((labels < 0) | (labels >= num_classes))
    if len(wrong):
        raise InputError(
            f"{path}, image {wrong[0] + 1}: label {labels[wrong[0]]} is not among the {num_classes} classes."
        )


def _bytes(path: Path) -> bytes:
    require(3 * regular_file(path), str(path))
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


def _text(path: Path) -> str:
    with reading(path, "a text file in UTF-8"):
        return _bytes(path).decode("utf-8")


def _class_folders(name: str, folder: Path, size: int, seed: int) -> ImageData:
    if not (folder / "train").is_dir():
        classes, paths, labels = _folder(folder, None)
        first, second = _split(labels, seed)
        train, test = (FileImages([paths[i] for i in part], labels[part], size) for part in (first, second))
        return ImageData(name, classes, train.kept(), test.kept())
    classes, paths, labels = _folder(folder / "train", None)
    train = FileImages(paths, labels, size)
    annotations = folder / "val" / "val_annotations.txt"
    held_out = next((folder / part for part in ("val", "test") if (folder / part).is_dir()), None)
    if held_out is None:
        raise InputError(f"{folder}: train is there, and neither val nor test; give one of them.")
    if annotations.is_file():
        paths, labels = _annotated(annotations, classes)
    else:
        _, paths, labels = _folder(held_out, classes)
    return ImageData(name, classes, train.kept(), FileImages(paths, labels, size).kept())


def _folder(
    folder: Path, known: tuple[str, ...] | None
) -> tuple[tuple[str, ...], list[Path], NDArray[np.int64]]:
    """The files of class folders, in order of their names; in a test set only of ``known`` classes."""
    inside = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if len(inside) < 2:
        raise InputError(
            f"{folder}: {len(inside)} class folders in it; give two or more, one for each class."
        )
    classes = known or tuple(entry.name for entry in inside)
    index = {label: number for number, label in enumerate(classes)}
    paths: list[Path] = []
    labels: list[int] = []
    for entry in inside:
        if entry.name not in index:
            raise InputError(f"{entry}: class '{entry.name}' does not occur in training.")
        found = sorted(path for path in entry.rglob("*") if path.suffix.lower() in _SUFFIXES)
        if len(found) < (1 if known or folder.name == "train" else 2):
            raise InputError(
                f"{entry}: class '{entry.name}' has {len(found)} images, too few; add images, or remove the "
                "folder."
            )
        paths += found
        labels += [index[entry.name]] * len(found)
    return classes, paths, np.array(labels, dtype=np.int64)


def _annotated(annotations: Path, classes: tuple[str, ...]) -> tuple[list[Path], NDArray[np.int64]]:
    """Tiny-ImageNet's validation set: a line of file name and class for each image."""
    index = {label: number for number, label in enumerate(classes)}
    paths, labels = [], []
    for number, line in enumerate(_text(annotations).splitlines(), 1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(f"{annotations}, line {number}: not a file name and a class with a tab between.")
        if fields[1] not in index:
            raise InputError(f"{annotations}, line {number}: class '{fields[1]}' does not occur in training.")
        paths.append(annotations.parent / "images" / fields[0])
        labels.append(index[fields[1]])
    return paths, np.array(labels, dtype=np.int64)


_LARGE, _LARGEST = 1 << 24, 89_478_485  # pixels; beyond these Pillow warns of a bomb
_large = threading.Lock()


@contextmanager
def _one_at_a_time(pixels: int, path: Path) -> Iterator[None]:
    """Decode large images one after the other, and none that is larger than any photograph."""
    if pixels > _LARGEST:
        raise InputError(f"{path}: {pixels:,} pixels, and no more than {_LARGEST:,} are read; scale it down.")
    with _large if pixels > _LARGE else nullcontext():
        require(7 * pixels, f"{path}: an image of {pixels:,} pixels")
        yield


def decode(path: Path, size: int) -> NDArray[np.uint8]:
    """One image file as ``(3, size, size)`` bytes: the shorter side scaled, the middle kept."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise InputError("Image files need Pillow: pip install 'hypergraph[image]'.") from None
    regular_file(path)
    try:
        with Image.open(path, formats=_FORMATS) as image, _one_at_a_time(image.width * image.height, path):
            square = ImageOps.fit(image.convert("RGB"), (size, size), Image.Resampling.BILINEAR)
    except InputError:
        raise
    # Pillow raises nearly anything on a damaged file, from struct.error to SyntaxError.
    except Exception as error:
        raise InputError(
            f"{path}: not a readable image ({str(error).removesuffix('.')}); replace or remove it."
        ) from error
    return np.asarray(square).transpose(2, 0, 1)

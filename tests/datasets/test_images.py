"""Readers of images: every layout, made here in small, and every kind of damage."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hypergraph.datasets.images import FileImages, MemoryImages, load_images, moments
from hypergraph.errors import InputError


def random_pixels(count: int, size: int = 32) -> NDArray[np.uint8]:
    return np.random.default_rng(count).integers(0, 256, (count, 3, size, size), dtype=np.uint8)


def write_binary(path: Path, pixels: NDArray[np.uint8], *labels: list[int]) -> None:
    path.write_bytes(np.column_stack([*map(np.uint8, labels), pixels.reshape(len(pixels), -1)]).tobytes())


def as_published(value: object) -> bytes:
    """A pickle that names numpy's modules as numpy 1 did, and has plain bytes as those of Python 2."""
    return pickle.dumps(value, protocol=3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def save_image(path: Path, pixels: NDArray[np.uint8]) -> None:
    image = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(pixels.transpose(1, 2, 0)).save(path)


def test_a_constant_channel_is_divided_by_one() -> None:
    """Its variance is 0 or a rounding error of either sign: the pixels became NaN."""
    pixels = random_pixels(5)
    pixels[:, 1], pixels[:, 2] = 90, 201
    mean, std = moments(MemoryImages(pixels, np.zeros(5, np.int64)))
    assert mean[1:].tolist() == [90, 201] and std[1:].tolist() == [1, 1]
    assert std[0] == pytest.approx(pixels[:, 0].std())


def test_digits_are_embedded() -> None:
    data, again = load_images("digits"), load_images("digits")
    assert isinstance(data.train, MemoryImages) and isinstance(data.test, MemoryImages)
    assert data.train.pixels.shape == (1438, 1, 8, 8) and data.test.pixels.shape == (359, 1, 8, 8)
    assert data.train.pixels.max() == 255
    assert np.bincount(data.test.labels).min() >= 34
    np.testing.assert_array_equal(data.test.labels, again.test.labels)
    assert data.test.labels[:8].tolist() == [1, 4, 1, 7, 0, 1, 2, 3]  # pinned


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_binary(tmp_path: Path, classes: int) -> None:
    train, test = random_pixels(4), random_pixels(3)
    if classes == 10:
        for number in (1, 2):
            write_binary(tmp_path / f"data_batch_{number}.bin", train, [9, 0, 1, number])
        write_binary(tmp_path / "test_batch.bin", test, [3, 2, 1])
        (tmp_path / "batches.meta.txt").write_text("\n".join(f"c{i}" for i in range(10)) + "\n\n")
    else:
        write_binary(tmp_path / "train.bin", train, [1, 2, 3, 4], [99, 0, 1, 2])
        write_binary(tmp_path / "test.bin", test, [1, 1, 1], [3, 2, 1])
    data = load_images(tmp_path)
    assert len(data.classes) == classes and data.classes[3] == ("c3" if classes == 10 else "3")
    assert data.train.labels.tolist() == ([9, 0, 1, 1, 9, 0, 1, 2] if classes == 10 else [99, 0, 1, 2])
    assert data.test.labels.tolist() == [3, 2, 1]
    np.testing.assert_array_equal(data.train.batch(np.array([2, 0])), train[[2, 0]])


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_pickled(tmp_path: Path, classes: int) -> None:
    pixels = random_pixels(4)
    names = ("data_batch_1", "test_batch", "batches.meta") if classes == 10 else ("train", "test", "meta")
    key = "" if classes == 10 else "fine_"
    batch = {"data": pixels.reshape(4, -1), f"{key}labels": [1, 0, 2, 3]}
    content = {
        **dict.fromkeys(names[:2], batch),
        names[2]: {f"{key}label_names": [f"c{i}" for i in range(classes)]},
    }
    for name, value in content.items():
        (tmp_path / name).write_bytes(as_published(value))
    data = load_images(tmp_path)
    assert data.classes[1] == "c1" and data.test.labels.tolist() == [1, 0, 2, 3]
    np.testing.assert_array_equal(data.train.batch(np.arange(4)), pixels)

    (tmp_path / names[1]).write_bytes(as_published({**batch, "data": pixels[:3].reshape(3, -1)}))
    with pytest.raises(InputError, match=rf"{names[1]}: truncated, 4 labels and pixels of shape \(3, 3072\)"):
        load_images(tmp_path)
    (tmp_path / names[1]).write_bytes(pickle.dumps(Path("x")))
    with pytest.raises(InputError, match="refused to load 'pathlib"):
        load_images(tmp_path)


def test_damaged_cifar(tmp_path: Path) -> None:
    write_binary(tmp_path / "data_batch_1.bin", random_pixels(4), [1, 2, 3, 77])
    with pytest.raises(InputError, match=r"data_batch_1\.bin, image 4: label 77 is not among the 10 classes"):
        load_images(tmp_path)
    path = tmp_path / "data_batch_1.bin"
    write_binary(path, random_pixels(4), [1, 2, 3, 7])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="truncated, 12287 bytes are 3 images of 3073 bytes and 3068 more"):
        load_images(tmp_path)
    write_binary(path, random_pixels(4), [1, 2, 3, 7])
    with pytest.raises(InputError, match=r"test_batch\.bin: cannot be read \(No such file"):
        load_images(tmp_path)


def test_class_folders_are_split_and_scaled(tmp_path: Path) -> None:
    for label in ("cat", "dog"):
        for number in range(5):
            save_image(tmp_path / label / f"{number}.png", random_pixels(1, 40 + number)[0])
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    data = load_images(tmp_path, size=16)
    assert data.classes == ("cat", "dog")
    assert data.train.labels.tolist() == [0] * 4 + [1] * 4 and data.test.labels.tolist() == [0, 1]
    assert data.train.batch(np.arange(8)).shape == (8, 3, 16, 16)


def test_images_that_do_not_fit_into_memory_are_decoded_by_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for label in ("a", "b"):
        for part in ("train", "val"):
            save_image(tmp_path / part / label / "1.png", random_pixels(1, 24)[0])
    kept = load_images(tmp_path, size=24)
    monkeypatch.setattr("hypergraph.datasets.images._KEEP_BYTES", 0)
    lazy = load_images(tmp_path, size=24)
    assert isinstance(kept.train, MemoryImages) and isinstance(lazy.train, FileImages)
    np.testing.assert_array_equal(lazy.train.batch(np.array([1])), kept.train.batch(np.array([1])))
    np.testing.assert_array_equal(lazy.train.batch(np.array([1]))[0], random_pixels(1, 24)[0])


def test_tiny_imagenet(tmp_path: Path) -> None:
    for label in ("n01", "n02"):
        save_image(tmp_path / "train" / label / "images" / f"{label}_0.JPEG", random_pixels(1, 64)[0])
    save_image(tmp_path / "val" / "images" / "val_0.JPEG", random_pixels(1, 64)[0])
    table = tmp_path / "val" / "val_annotations.txt"
    table.write_text("val_0.JPEG\tn02\t0\t0\t62\t62\n")
    data = load_images(tmp_path)
    assert data.test.labels.tolist() == [1] and data.test.batch(np.array([0])).shape == (1, 3, 64, 64)
    table.write_text("val_0.JPEG\tn02\nval_0.JPEG\tn09\n")
    with pytest.raises(InputError, match=r"val_annotations\.txt, line 2: class 'n09' does not occur in"):
        load_images(tmp_path)


def test_damaged_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPERGRAPH_DATA", raising=False)
    for label in ("a", "b"):
        for part in ("train", "val"):
            save_image(tmp_path / part / label / "1.jpg", random_pixels(1, 24)[0])
    picture = tmp_path / "val" / "b" / "1.jpg"
    content = picture.read_bytes()
    picture.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"b/1\.jpg: not a readable image \(.*\); replace or remove it"):
        load_images(tmp_path)
    picture.unlink()
    with pytest.raises(InputError, match="val/b: class 'b' has 0 images, too few"):
        load_images(tmp_path)
    save_image(tmp_path / "val" / "c" / "1.jpg", random_pixels(1, 24)[0])
    picture.write_bytes(content)
    with pytest.raises(InputError, match="val/c: class 'c' does not occur in training"):
        load_images(tmp_path)
    with pytest.raises(InputError, match=r"train/a: 0 class folders in it; give two or more"):
        load_images(tmp_path / "train" / "a")
    with pytest.raises(InputError, match=r"cifar10: no such folder here, name the folder"):
        load_images("cifar10")
    with pytest.raises(InputError, match=r"has no folder cifar10 or cifar-10-batches-bin or cifar-10"):
        load_images("cifar10", data=tmp_path)


def test_real_cifar_subset(data_dir: Path) -> None:
    data = load_images("cifar10-subset", data=data_dir)
    assert (data.classes[0], data.classes[9]) == ("airplane", "truck")
    assert np.bincount(data.train.labels).tolist() == [100] * 10
    assert np.bincount(data.test.labels).tolist() == [50] * 10

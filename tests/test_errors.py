from hypergraph.errors import InputError, unknown_name


def test_unknown_name_suggests_the_nearest() -> None:
    error = unknown_name("head", "bmlr", ["bmlr-p", "mlr"])
    assert isinstance(error, InputError)
    assert str(error) == "Unknown head 'bmlr'; did you mean 'bmlr-p'? Known: bmlr-p, mlr."


def test_unknown_name_without_a_near_one() -> None:
    assert str(unknown_name("head", "zzzz", ["mlr"])) == "Unknown head 'zzzz'. Known: mlr."

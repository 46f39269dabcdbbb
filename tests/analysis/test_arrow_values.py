"""Values of every type as names, whole numbers and microseconds, against plain Python."""

import math
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stablecast.analysis.reading.values import microseconds, name_of, whole_number

LONG = st.integers(-(2**63), 2**63 - 1)
UNITS = {"ns": Decimal("0.001"), "us": Decimal(1), "ms": Decimal(1000), "s": Decimal(10**6)}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WIDE = Context(prec=400)


def exact(number):
    """Return a number to 18 digits after its point, or None if it is too large."""
    kept = number.quantize(Decimal(1).scaleb(-18), rounding=ROUND_HALF_UP, context=WIDE)
    return kept if abs(kept) < 10**20 else None


def plain_whole(number):
    kept = exact(number)
    return int(kept) if kept is not None and kept == int(kept) and -(2**63) <= kept < 2**63 else None


def plain_micros(number, unit):
    kept = exact(number)
    if kept is None:
        return None
    down = int(WIDE.multiply(kept, UNITS[unit]).to_integral_value(ROUND_FLOOR))
    return down if -(2**63) <= down < 2**63 else None


def every(function, values, kind, *arguments):
    """Return a function of an array, having seen that its dictionary and its parts give the same."""
    array = pa.array(values, kind)
    found = function(array, *arguments)
    padded = pa.array([None, *values, None], kind).slice(1, len(values))
    assert function(padded, *arguments).to_pylist() == found.to_pylist()
    if not pa.types.is_decimal(array.type) or array.type.bit_width == 128:
        assert function(array.dictionary_encode(), *arguments).to_pylist() == found.to_pylist()
    return found.to_pylist()


@given(st.lists(st.none() | LONG))
def test_whole_numbers_stay_what_they_are(numbers):
    assert every(whole_number, numbers, pa.int64()) == numbers
    texts = [None if number is None else str(number) for number in numbers]
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.string_view()):
        assert every(whole_number, texts, kind) == numbers
    assert every(name_of, numbers, pa.int64()) == texts


@given(st.lists(st.none() | st.integers(0, 2**64 - 1)), st.sampled_from(list(UNITS)))
def test_unsigned_numbers(numbers, unit):
    fits = [n if n is not None and n < 2**63 else None for n in numbers]
    assert every(whole_number, numbers, pa.uint64()) == fits
    wanted = [None if n is None else plain_micros(Decimal(n), unit) for n in numbers]
    assert every(microseconds, numbers, pa.uint64(), unit) == wanted


@given(st.lists(st.floats()), st.sampled_from(list(UNITS)))
@example([2.0**63, -(2.0**63), 1700000000.123457, 1700000000.1234565, -1e-7, -1e-20, 1e19], "s")
@example([1.7e18 + 1000, 1.7e18 + 512, -1.7e18, 4.5e15, 9.1e18], "ns")
def test_floats_stand_for_the_decimal_that_they_are_printed_as(numbers, unit):
    printed = [Decimal(repr(n)) if math.isfinite(n) and abs(n) < 1e21 else None for n in numbers]
    whole = [int(n) if math.isfinite(n) and n == int(n) and -(2**63) <= n < 2**63 else None for n in numbers]
    assert every(whole_number, numbers, pa.float64()) == whole
    wanted = [None if n is None else plain_micros(n, unit) for n in printed]
    assert every(microseconds, numbers, pa.float64(), unit) == wanted


@given(st.lists(st.integers(-(10**17), 10**17)), st.sampled_from(["s", "ms"]))
def test_floats_near_whole_microseconds_are_exact(micros, unit):
    scale = int(UNITS[unit])
    numbers = [float(Decimal(n) / scale) for n in micros]
    numbers += [float(np.nextafter(n, math.inf)) for n in numbers]
    wanted = [plain_micros(Decimal(repr(n)), unit) for n in numbers]
    assert every(microseconds, numbers, pa.float64(), unit) == wanted


@given(
    st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1) | LONG),
    st.integers(0, 38),
    st.sampled_from(list(UNITS)),
)
@example([-(2**63), 2**63 - 1, None, 2**63, 10**18], 18, "ns")
@example([-(2**63), 2**63 - 1, 9223372036854, 9223372036855], 0, "s")
def test_decimals_are_exact(digits, scale, unit):
    numbers = [None if n is None else Decimal(n).scaleb(-scale, WIDE) for n in digits]
    kind = pa.decimal128(38, scale)
    wanted = [None if n is None else plain_whole(n) for n in numbers]
    assert every(whole_number, numbers, kind) == wanted
    wanted = [None if n is None else plain_micros(n, unit) for n in numbers]
    assert every(microseconds, numbers, kind, unit) == wanted


def test_decimals_of_other_widths():
    numbers = [Decimal("12.50"), Decimal("-3.00"), None]
    kinds = [pa.decimal256(40, 2), pa.decimal256(10, 2)]
    for kind in kinds:
        assert every(whole_number, numbers, kind) == [None, -3, None]
        assert every(microseconds, numbers, kind, "ms") == [12_500, -3_000, None]


NUMBER_TEXT = st.from_regex(
    r"[+-]?([0-9]{1,25}\.?[0-9]{0,22}|\.[0-9]{1,22})([eE][+-]?[0-9]{1,2})?", fullmatch=True
)


@given(st.lists(NUMBER_TEXT), st.sampled_from(["", " ", "\t", "\n "]), st.sampled_from(list(UNITS)))
def test_text_of_numbers_is_exact(texts, blank, unit):
    numbers = [Decimal(text) for text in texts]
    texts = [f"{blank}{text}{blank}" for text in texts]
    assert every(whole_number, texts, pa.string()) == [plain_whole(n) for n in numbers]
    assert every(microseconds, texts, pa.string(), unit) == [plain_micros(n, unit) for n in numbers]


@given(
    st.lists(
        st.text()
        | st.binary()
        | st.sampled_from(["0x1f", "1_0", "\u0661", "nan", "inf", "1e", ".", "+", "1e999999999"])
    )
)
def test_no_text_is_ever_refused(values):
    raw = [value.encode(errors="replace") if isinstance(value, str) else value for value in values]
    array = pa.array(raw, pa.binary())
    for unit in (*UNITS, "timestamp"):
        assert len(microseconds(array, unit)) == len(values)
    assert len(whole_number(array)) == len(values)
    assert name_of(array).to_pylist() == [value.decode(errors="replace") for value in raw]


def test_digits_of_any_script_are_digits():
    assert whole_number(pa.array(["\u0661\u0660", "\u0967"])).to_pylist() == [10, 1]


def test_what_looks_like_a_number_to_some_is_none():
    for text in ("0x1f", "1_000", "nan", "inf", "1e", ".", "+", "", "1 2", "true", "1e40"):
        assert whole_number(pa.array([text])).to_pylist() == [None], text
        assert microseconds(pa.array([text]), "s").to_pylist() == [None], text


@given(
    st.lists(LONG), st.sampled_from(["s", "ms", "us", "ns"]), st.sampled_from([None, "UTC", "Europe/Paris"])
)
def test_timestamps_have_their_own_unit(numbers, unit, zone):
    wanted = [plain_micros(Decimal(n), unit) for n in numbers]
    array = pa.array(numbers, pa.timestamp(unit, zone))
    for said in ("s", "timestamp"):
        assert microseconds(array, said).to_pylist() == wanted
        if unit != "s":
            assert microseconds(pa.array(numbers, pa.int64()), said, unit).to_pylist() == wanted


@given(
    st.lists(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))),
    st.sampled_from(["T", " "]),
    st.sampled_from(["", "Z", "+02:00", "-11:30", "+5", " UTC", "UTC+1", "+0530"]),
    st.booleans(),
)
def test_moments_in_text(moments, between, zone, alone):
    ahead = {"+02:00": 120, "-11:30": -690, "+5": 300, "UTC+1": 60, "+0530": 330}.get(zone, 0)
    texts = [f"{moment.isoformat(between)}{zone}" for moment in moments] + ([] if alone else ["13:00", "now"])
    wanted = [
        (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) - ahead * 60_000_000
        for moment in moments
    ]
    assert every(microseconds, texts, pa.string(), "timestamp") == wanted + ([] if alone else [None, None])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024-02-29", 1_709_164_800_000_000),
        ("2023-02-29", None),
        ("2024-02", 1_706_745_600_000_000),
        ("2024", None),
        ("2024-1-2 3:4:5", 1_704_164_645_000_000),
        ("2024-01-02T03:04", 1_704_164_640_000_000),
        ("2024-01-02T3", 1_704_164_400_000_000),
        ("2024-01-02T", None),
        ("2024-07-01T12:00:00+02:00:30", 1_719_827_970_000_000),
        ("2024-01-02T24:00:00", None),
        ("2024-01-02T03:04:60", None),
        ("2024-07-01T12:00:00 Europe/Paris", 1_719_828_000_000_000),
        ("2024-07-01T12:00:00 Nowhere/Land", None),
        ("2024-07-01T12:00:00+19:00", None),
        ("2024-07-01T12:00:00.Z", 1_719_835_200_000_000),
        ("+12345-01-01", 327_403_382_400_000_000),
        ("0000-01-01", -62_167_219_200_000_000),
        ("999999-12-31", None),
        ("2024-07-01T12:00:00 ../etc", None),
    ],
)
def test_moments_of_odd_forms(text, wanted):
    assert microseconds(pa.array([text]), "timestamp").to_pylist() == [wanted]


def test_names_of_numbers():
    doubles = [3.0, -0.0, 1.5, 12345678.5, 1e300, 0.00015, float("nan"), float("inf"), -2.5e-10, None]
    names = ["3", "0", "1.5", "1.23456785E7", "1.0E300", "1.5E-4", "NaN", "Infinity", "-2.5E-10", None]
    assert name_of(pa.array(doubles)).to_pylist() == names
    assert name_of(pa.array([0.1, 3.0], pa.float32())).to_pylist() == ["0.1", "3"]
    decimals = [Decimal("3.000"), Decimal("1.500"), Decimal("0.001"), None]
    assert name_of(pa.array(decimals, pa.decimal128(38, 10))).to_pylist() == [
        "3",
        "1.5000000000",
        "0.0010000000",
        None,
    ]
    assert name_of(pa.array([2**64 - 1], pa.uint64())).to_pylist() == [str(2**64 - 1)]
    assert name_of(pa.nulls(2)).to_pylist() == [None, None]
    assert name_of(pa.array([True, None])).to_pylist() == ["true", None]
    assert name_of(pa.array([[1]])).to_pylist() == [None]


def test_names_are_in_their_dictionary_once():
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3]), pa.array(["a", "b", None, "b"]))
    for array in (
        odd,
        pa.array([3.0, 3.0, -0.0, 0.0]),
        pa.array(["a", "a"]),
        pa.chunked_array([["a"], ["b", "a"]]),
    ):
        names = name_of(array)
        assert names.type == pa.dictionary(pa.int32(), pa.string())
        assert len(set(names.dictionary.to_pylist())) == len(names.dictionary)
        assert names.dictionary.null_count == 0
    assert name_of(odd).to_pylist() == ["a", "b", None, None, "b"]


@pytest.mark.parametrize(
    "values",
    [pa.array([True]), pa.array([[1]]), pa.array([{"a": 1}]), pa.nulls(1), pa.array([5], pa.date32())],
)
def test_other_types_are_no_numbers(values):
    assert whole_number(values).to_pylist() == [None]
    for unit in (*UNITS, "timestamp"):
        assert microseconds(values, unit).to_pylist() == [None]

import pickle
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.compiling.structs import Record, Structure, allocate

PERSON = np.dtype([("age", np.int64), ("weight", np.float64)], align=True)


class Tally(Record):
    served: int
    earned: float


@dataclass(kw_only=True, eq=False)
class Prices:
    counters: int
    fee: float
    open: bool


@dataclass(kw_only=True, eq=False)
class Hall:
    waiting: Annotated[NDArray[np.int64], "counters"]
    seats: Annotated[NDArray[np.int32], "counters", 3]
    people: Annotated[Any, PERSON, "people"]
    tally: Tally


class Shop(Structure, Prices, Hall):
    pass


@kernel
def serve(shop: Shop, counter: int) -> int:
    if shop.open:
        shop.waiting[counter] -= 1
        shop.tally.served += 1
        shop.tally.earned += shop.fee
    return int(shop.waiting[counter])


@kernel
def oldest(shop: Shop) -> int:
    age = 0
    for k in range(shop.people.size):
        age = max(age, shop.people[k].age)
    return age


@kernel
def taken(shop: Shop, counter: int) -> int:
    total = 0
    for k in range(shop.seats.shape[1]):
        total += shop.seats[counter, k]
    return total


def shop() -> Shop:
    hall = allocate(Hall, {"counters": 2, "people": 3}, waiting=np.array([5, 6]))
    return Shop(Prices(counters=2, fee=1.5, open=True), hall)


def test_kernels_read_constants_and_change_arrays_and_records():
    found = shop()
    assert (serve(found, 0), serve(found, 0), serve(found, 1)) == (4, 3, 5)
    assert (found.tally.served, found.tally.earned) == (3, 4.5)
    assert list(found.waiting) == [3, 5]


def test_kernels_see_records_and_arrays_of_two_dimensions():
    found = shop()
    found.people.age = [20, 71, 30]
    found.seats[1] = [1, 2, 3]
    assert oldest(found) == 71
    assert taken(found, 1) == 6


def test_an_array_that_is_replaced_is_seen_by_the_next_call():
    found = shop()
    assert serve(found, 1) == 5
    found.waiting = np.array([10, 20, 30])
    assert serve(found, 2) == 29
    found.open = False
    assert serve(found, 2) == 29


def test_zeros_are_allocated_in_the_declared_lengths():
    hall = allocate(Hall, {"counters": 2, "people": 3})
    assert hall.seats.shape == (2, 3)
    assert hall.seats.dtype == np.int32
    assert hall.people.shape == (3,)
    assert hall.tally.served == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("waiting", np.zeros(2, np.int32)),
        ("waiting", np.zeros((2, 2), np.int64)),
        ("waiting", np.zeros(4, np.int64)[::2]),
        ("seats", np.zeros((3, 2), np.int32).T),
        ("people", np.zeros(3, np.int64)),
        ("tally", np.zeros(1, Tally.dtype)),
    ],
)
def test_a_field_refuses_what_compiled_code_would_misread(name, wrong):
    found = shop()
    with pytest.raises(TypeError, match=f"field {name} was declared as"):
        setattr(found, name, wrong)
    assert serve(found, 0) == 4


def test_only_declared_fields_can_be_set_and_all_must_be():
    found = shop()
    with pytest.raises(AttributeError, match="declares no field windows"):
        found.windows = 3
    with pytest.raises(TypeError, match="lacks waiting, seats, people, tally"):
        Shop(Prices(counters=2, fee=1.5, open=True))


def test_a_record_refuses_a_name_that_numpy_has_taken():
    with pytest.raises(TypeError, match="cannot be called size"):
        type("Sized", (Record,), {"__annotations__": {"size": int}})


def test_the_compiled_type_is_found_again_in_another_process():
    kind = Shop.compiled_
    again = pickle.loads(pickle.dumps(kind))
    assert again == kind
    assert hash(again) == hash(kind)


def test_other_fields_make_another_compiled_type():
    class Shop(Structure, Prices):
        pass

    one = Shop.compiled_

    class Shop(Structure, Prices):  # type: ignore[no-redef]
        windows: int

    assert Shop.compiled_ != one

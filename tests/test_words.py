from stablecast.words import counted


def test_one_thing_is_one_and_thousands_have_a_comma():
    told = [counted(number, "message") for number in (0, 1, 2000)]
    assert told == ["0 messages", "1 message", "2,000 messages"]

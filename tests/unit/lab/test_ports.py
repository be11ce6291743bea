from tare.lab.machine.ports import allocate


def test_two_that_allocate_at_once_choose_differently() -> None:
    first, second = (allocate("127.0.0.1", ["http", "status", "https"]) for _ in range(2))
    assert len(set(first.values())) == 3
    assert first != second

"""The benchmark of graphics cards measures what is bitwise equal."""

from pliant_bench import gpu


def test_every_task_of_the_benchmark_is_bitwise_equal() -> None:
    table, card = gpu.gpu_table(quick=True, repeats=1)
    assert card
    assert len(table.rows) == 13
    assert [row["task"] for row in table.rows if not row["equal"]] == []
    assert all(row["card_ms"] > 0.0 and row["threads_ms"] > 0.0 and row["floor_ms"] > 0.0 for row in table.rows)

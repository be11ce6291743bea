"""Results have the original's names in Google Benchmark's format."""

from tare.lab.project import catalog
from tare.lab.run import planning

MOST = 50_000_000
SIZES = (1, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 50_000_000)


STUDIES = ("calls", "table", "payloads", "logs", "loading")


def names(label: str) -> dict[str, str]:
    """Study and scenario → name, of all that the original measures."""
    found = {}
    for study in STUDIES:
        plan = planning.make(
            catalog.load("sandbox", study),
            quick=False,
            variants=None if label == "control" else [label],
            scenarios=["all"],
            blocks=None,
            seed=1,
            overrides={},
        )
        found |= {f"{study} {name}": each[label].name for name, each in plan.benchmarks.items()}
    return found


def test_every_scenario_has_a_name_of_its_own() -> None:
    found = names("control")
    assert len(set(found.values())) == len(found)
    assert all("control" in name for name in found.values())


def test_the_original_s_names_are_among_them() -> None:
    for mode, variant in enumerate(("gvisor-shared", "roma-original")):
        found = set(names(variant).values())
        for count in (100_000, 500_000, 1_000_000, 5_000_000, 10_000_000):
            assert f"BM_ProcessRequestPrimeSieve/mode:{mode}/prime_count:{count}" in found
        assert f"BM_LoadBinary/mode:{mode}" in found
        for count in (10_000, 100_000, 1_000_000):
            assert f"BM_ProcessRequestSortList/mode:{mode}/n_items:{count}" in found
        for udf in (1, 2):
            for workers in (1, 10, 50, 100):
                name = f"BM_ProcessRequest/mode:{mode}/udf:{udf}/num_workers:{workers}"
                assert name in found
        for lang in (0, 1, 2):
            name = f"BM_ProcessRequestMultipleLanguages/lang:{lang}/udf:1"
            assert (name if mode == 0 else f"{name}/mode:1") in found
        for log in (0, 1):
            for count in (10, 100, 1000, 10_000):
                name = f"BM_ProcessRequestDevNullVsLogBinary/log:{log}/num_logs:{count}"
                assert (name if mode == 0 else f"{name}/mode:1") in found
        for way in ("Request", "Response", "Callback"):
            payloads = {
                name
                for name in found
                if name.startswith(f"BM_ProcessRequest{way}Payload/") and "transfer" not in name
            }
            assert payloads == {
                f"BM_ProcessRequest{way}Payload/{size}/{count}/{mode}"
                for size in SIZES
                for count in (1, 10, 100, 1000)
                if size * count <= MOST
            }
    assert "BM_ProcessRequestSortList/mode:wasm/n_items:10000" in names("wasm").values()

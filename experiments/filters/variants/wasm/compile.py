"""Compiles a WebAssembly module for the engine of this variant.

PYTHONPATH=COMPONENT python3 compile.py MODULE.wasm OUTPUT.cwasm --limit epoch|fuel|none

COMPONENT is the output folder of ../../components/wasmtime. What comes out is native code for the
kind of CPU that this runs on.
"""

import argparse
import sys
from pathlib import Path

import wasmtime


def main() -> None:
    """Read the module, compile it with the limit built in, and write it."""
    parser = argparse.ArgumentParser(description="Compiles a WebAssembly module.")
    parser.add_argument("module", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--limit", choices=["epoch", "fuel", "none"], required=True)
    given = parser.parse_args()

    config = wasmtime.Config()
    config.epoch_interruption = given.limit == "epoch"
    config.consume_fuel = given.limit == "fuel"
    try:
        module = wasmtime.Module(wasmtime.Engine(config), given.module.read_bytes())
    except wasmtime.WasmtimeError as error:
        sys.exit(" ".join(str(error).split()))
    given.output.write_bytes(module.serialize())


main()

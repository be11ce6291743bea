"""Sends back what it is sent: for stall.py. Prints its port."""

import asyncio
import sys

_PIECE = 1 << 16


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, until its client closes."""
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def main(host: str) -> None:
    """Serve any free port of `host`, until killed."""
    server = await asyncio.start_server(echo, host, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

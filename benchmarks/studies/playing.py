"""The page of `pliant play` for docs/play.md; needs playwright and Chromium.

Run pictures.py with NUMBA_NUM_THREADS=1: a browser without a GPU renders on all cores, and threads of the simulation
that wait for each other would advance only when both get one.
"""

import io
import shutil
import threading
from collections.abc import Callable

import numpy as np
from PIL import Image

from pliant.view.access import AccessRules
from pliant.view.interactive_run import StartOptions
from pliant.view.listening_socket import listen_at
from pliant.view.server import Server
from pliant.view.session import Session

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--hide-scrollbars"]
SIDE = 36  # vertices along the cloth
WAIT = 600_000  # ms, for a machine under load


def serve(scene: str, over: threading.Event) -> str:
    """Serve a session on a free port until `over` is set; return its address."""
    import asyncio

    session, listening = Session(StartOptions(scene)), listen_at("127.0.0.1", 0)
    gate, ready = AccessRules.at(listening, "127.0.0.1"), threading.Event()

    async def serving() -> None:
        server = Server(session, listening, gate)
        await server.start()
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.1)
        await server.close()
        session.stop()

    session.start()
    threading.Thread(target=lambda: asyncio.run(serving()), daemon=True).start()
    ready.wait()
    return gate.url


def pull(page, corner: int, by: tuple[float, float]) -> None:
    """Grab the cloth slightly inside of a corner and drag it by some pixels."""
    x = np.reshape(page.evaluate("pliant.positions(0)"), (-1, 3))
    at, within = (np.array(page.evaluate("p => pliant.project(p)", p.tolist())) for p in (x[corner], x.mean(0)))
    at += 14.0 * (within - at) / np.linalg.norm(within - at)
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + by[0], at[1] + by[1], steps=8)


def draw_play(save: Callable[[str, Image.Image], None]) -> None:
    """Drag a corner of a tablecloth on a bust, and take a picture of the page."""
    from playwright.sync_api import sync_playwright

    over = threading.Event()
    url = serve("tablecloth-on-bust", over)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 820}, color_scheme="light")
        page.set_default_timeout(WAIT)
        page.goto(url)
        page.evaluate("pliant.ready")
        page.wait_for_function("() => pliant.header.time > 2")
        page.mouse.move(460, 400)
        page.mouse.wheel(0, -150)
        for key in "cn":
            page.keyboard.press(key)
        pull(page, SIDE - 1, (110.0, -80.0))
        began = page.evaluate("pliant.header.time")
        page.wait_for_function("t => pliant.header.time > t + 0.3", arg=began)
        page.evaluate("link.socket.onmessage = null")
        page.wait_for_timeout(4000)  # until the static view is refined
        shot = page.screenshot(timeout=WAIT)
        over.set()
        browser.close()
    # the rare colours are those of contacts and of the chart
    save("play", Image.open(io.BytesIO(shot)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, 3))

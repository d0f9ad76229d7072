"""The report in a real browser, in light and in dark: it draws, and nothing complains."""

import re
import shutil
import subprocess

import pytest
from PIL import Image, ImageStat

# In the order of Blink's enumeration.
SCHEMES = {"dark": 0, "light": 1}
SIZE = (1280, 2400)


@pytest.fixture(scope="session")
def chromium():
    """A browser, where there is one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    return found


def picture(chromium, page, folder, scheme):
    """A screenshot of a page, and what its console said."""
    out = folder / f"{scheme}.png"
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / scheme}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            f"--screenshot={out}",
            page.resolve().as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=False,
    )
    said = done.stderr.decode(errors="replace")
    assert out.is_file(), said
    console = re.findall(r"CONSOLE.*", said)
    return Image.open(out).convert("RGB"), console


def test_light_and_dark(company, chromium, tmp_path):
    """Protects the report that a manager signs: both colour schemes draw it, without a console message."""
    brightness = {}
    for scheme in SCHEMES:
        image, console = picture(chromium, company.folder / "report.html", tmp_path, scheme)
        assert console == []
        assert image.size == SIZE
        # A blank page has one colour; text and charts have many.
        assert len(image.getcolors(1 << 24)) > 100
        brightness[scheme] = sum(ImageStat.Stat(image).mean) / 3
    assert brightness["light"] > 180 > 90 > brightness["dark"], brightness

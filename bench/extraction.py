"""How well and how fast files are read: `python -m bench.extraction [FOLDER]`.

FOLDER has a manifest.tsv (columns file, expect, value, param; expect is find, pw, error, empty or any);
default is ../shared/data/documents. Prints a table per format: files, phrases found of those expected, clear
errors of those expected, median and largest ms (in a child process, as in production), and MB; then what
falls short, the overhead of the child process, and the speed of chunking.
"""

from __future__ import annotations

import csv
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kamerplanter.settings")

import django

from knowledge.errors import ExtractionFailed
from knowledge.extraction import DEFAULT, extract
from knowledge.extraction.reading import read
from knowledge.ingest.chunking import chunk

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
REPEATS = 3


def folded(text: str) -> str:
    return " ".join(text.replace("\xa0", " ").split())


def timed_ms(path: Path, *, password: str | None) -> tuple[float, str | ExtractionFailed]:
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        try:
            outcome: str | ExtractionFailed = extract(path=path, file_name=path.name, password=password).text
        except ExtractionFailed as error:
            outcome = error
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times), outcome


def report_formats(folder: Path) -> None:
    with (folder / "manifest.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    table: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    short: list[str] = []
    for row in rows:
        path = folder / row["file"]
        ms, outcome = timed_ms(path, password=row["param"] if row["expect"] == "pw" else None)
        line = table[path.suffix.lstrip(".").lower()]
        line["ms"].append(ms)
        line["mb"].append(path.stat().st_size / 1e6)
        if row["expect"] in ("find", "pw"):
            as_expected = isinstance(outcome, str) and folded(row["value"]) in folded(outcome)
            line["found"].append(as_expected)
        elif row["expect"] in ("error", "empty"):
            as_expected = isinstance(outcome, ExtractionFailed) and outcome.code != "extractor_crashed"
            line["errors"].append(as_expected)
        else:
            continue
        if not as_expected:
            reason = outcome.code if isinstance(outcome, ExtractionFailed) else "text without it"
            short.append(f"{row['file']}: {reason}")
    print(f"{'format':8}{'files':>6}{'found':>8}{'errors':>8}{'median ms':>11}{'max ms':>9}{'MB':>8}")
    for name, line in sorted(table.items()):
        found, errors = (
            f"{sum(line[k]):.0f}/{len(line[k])}" if line[k] else "-" for k in ("found", "errors")
        )
        figures = f"{statistics.median(line['ms']):11.1f}{max(line['ms']):9.1f}{sum(line['mb']):8.1f}"
        print(f"{name:8}{len(line['ms']):6}{found:>8}{errors:>8}{figures}")
    print("falls short:", "; ".join(short) or "nothing")


def report_overhead() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.md"
        path.write_text("# Beet\n\nErde lockern.\n", encoding="utf-8")
        times = [timed_ms(path, password=None)[0] for _ in range(50)]
        begun = time.perf_counter()
        for _ in range(100):
            read(path.read_bytes(), file_name="a.md", password=None, limits=DEFAULT)
        inside = 10 * (time.perf_counter() - begun)
    print(f"a small file: {statistics.median(times):.1f} ms, of which reading it {inside:.2f} ms")


def report_chunking(folder: Path) -> None:
    files = sorted(
        path for path in folder.rglob("*") if path.suffix in (".md", ".yaml", ".txt", ".docx", ".epub")
    )
    texts = [extract(path=path, file_name=path.name) for path in files if not path.name.startswith("made-")]
    begun = time.perf_counter()
    drafts = [
        draft for text in texts for draft in chunk(text, count_tokens=lambda word: (len(word) + 3) // 4)
    ]
    seconds = time.perf_counter() - begun
    millions = sum(len(text.text) for text in texts) / 1e6
    median = statistics.median(draft.token_count for draft in drafts)
    print(
        f"chunking {folder.name}: {len(texts)} texts, {millions:.1f} million characters, "
        f"{len(drafts)} chunks, median {median:.0f} tokens, {seconds:.2f} s"
    )


def main() -> None:
    django.setup()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "documents"
    if not (folder / "manifest.tsv").exists():
        sys.exit(f"no manifest.tsv in {folder}")
    report_formats(folder)
    report_overhead()
    report_chunking(folder)
    if (guides := SHARED / "kamerplanter" / "knowledge").exists():
        report_chunking(guides)


if __name__ == "__main__":
    main()

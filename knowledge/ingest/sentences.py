"""Where sentences begin, in German, English and Russian text."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What may end a sentence, then blanks, then what may begin one.
CANDIDATE = re.compile(r"([.!?…:]+)([\"”“»’')\]*_]*)\s+(?=[\"„“«‚‘(\[*_–—-]*\s?[^\W_])")
WORD_BEFORE = re.compile(r"[^\W\d_]+(?:[.-][^\W\d_]+)*\Z|(?<!\w)\d+\Z")
# Without their last dot, in small letters. Single letters (initials, "z. B.", "т. е.") need no entry.
_ABBREVIATED = """
abb abs abschn allg anm art aufl bd bzgl bzw ca dgl dipl dr etc evtl exkl fa ff frl geb gem ggf ggü hr hrsg
ing inkl insb insbes jg jh kap kl lat lt max mind min mio mrd nr nrn od pos prof rd resp sog spp ssp std str
stk tab tel tsd u.a ugs usf usw var verf vgl vol wg zit zzgl z.b d.h o.ä u.ä i.d.r s.o s.u u.u v.a z.t
approx cf ed eds eg e.g ie i.e est fig figs inc jr ltd mr mrs ms op pp sec sr st vs viz
вкл гг гл гр др ед изд им кв коп мин млн млрд напр обл оз пер пл пос пр прим проф разд рис руб сб сек
см соч ср стр табл тел т.е т.д т.п т.к т.н тыс ул утв экз
"""
ABBREVIATIONS = frozenset(_ABBREVIATED.split())
UNITS = frozenset("lgmл")  # the single letters that do end sentences: "5 g je l. Mehr schadet."


def sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets in (start, end) at which a sentence begins, in order.

    start is taken to begin one and is not yielded. A full stop after an abbreviation, a single
    letter or a number of one or two digits ends none; a colon only before a new line does.
    """
    for match in CANDIDATE.finditer(text, start, end):
        stop = match.group(1)
        if stop == ":" and "\n" not in match.group():
            continue
        after = text[match.end()]
        if stop == "." and "\n\n" not in match.group():
            before = WORD_BEFORE.search(text, max(start, match.start() - 30), match.start())
            word = before.group().lower() if before else ""
            single = len(word) == 1 and word not in UNITS
            ordinal = word.isdigit() and len(word) < 3
            if single or ordinal or word in ABBREVIATIONS or after.islower():
                continue
        elif after.islower() and stop != ":":
            continue
        yield match.end()

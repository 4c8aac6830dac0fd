"""What is pinned is whole on every Python supported, also on those that this run doesn't use."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINNED = Path(__file__).resolve().parents[2] / "requirements" / "runtime.txt"


@pytest.mark.parametrize("python", ["3.11.2", "3.12.0", "3.13.0", "3.14.0"])
def test_everything_that_the_packages_need_is_pinned(python: str) -> None:
    pinned = {
        canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", PINNED.read_text(), re.MULTILINE)
    }
    environment = {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "extra": "",
    }
    missing = set()
    for package in pinned:
        try:
            needed = [Requirement(line) for line in requires(package) or []]
        except PackageNotFoundError:  # pinned for another Python than this one
            continue
        missing |= {
            f"{package} needs {need}"
            for need in needed
            if (need.marker is None or need.marker.evaluate(environment))
            and canonicalize_name(need.name) not in pinned
        }
    assert len(pinned) > 50
    assert not missing

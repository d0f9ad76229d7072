"""Refuses a dependency whose licence does not go with Apache-2.0.

Reads `cargo metadata` on stdin. Of alternatives (OR) one allowed is enough; of a sum (AND) each must be.
"""

import json
import re
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def allowed(expression):
    """Whether an SPDX expression can be met by allowed licences alone."""
    # The old form `MIT/Apache-2.0` means OR.
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        met = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = both() or met
        return met

    def both():
        met = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = single() and met
        return met

    def single():
        token = tokens.pop(0)
        if token == "(":
            met = either()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token += " WITH " + tokens.pop(0)
        return token in ALLOWED

    return either()


def main():
    """Names what is refused, and says how many packages were looked at."""
    packages = json.load(sys.stdin)["packages"]
    refused = [
        f"{package['name']} {package['version']}: {package['license'] or 'no licence named'}"
        for package in packages
        if not package["license"] or not allowed(package["license"])
    ]
    for line in sorted(refused):
        print(line)
    print(f"{len(packages)} packages, {len(refused)} with a licence that is not allowed")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

"""Patterns and names: what Java's `Pattern.matches` says of each, for both engines."""

from __future__ import annotations

import random

NAMES = (
    "", "a", "b", "A", "aa", "ab", "abc", "aB", "a.b", "a-b", "a_b", "a b", "a+b", "a^b", "a&b", "-", ".", "]",
    "[", "{", "}", "\\", "^", "$", "0", "7", "12", "a1", "orders", "ORDERS", "Orders", "orders.eu", "orders-eu",
    "orders.eu.dead", "__consumer_offsets", "_schemas", "mm2-offsets.A.internal", "A.checkpoints.internal",
    "heartbeats", "xyz", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\t", "a\tb", "a\nb", "a\rb", "a\x0bb", "a\x0cb",
    "\x07", "\x1b", "\x7f", "é", "É", "ß", "\u017f", "\u212a", "日本", "😀", "a😀b", "a\u0085b", "a\u2028b", "a\u00a0b",
    "a\n", "b\r\n", "a\u2028", "aé", "K", "k", "s", "S", "cC", "é.a",
)  # fmt: skip

# Everything that the docstring of `jobs.patterns.java` names, and what people write.
PATTERNS = (
    ".*", ".+", "", "orders", "orders.*", "orders\\..*", ".*[\\-\\.]internal", ".*\\.replica", "__.*", "_.*",
    "console-consumer-.*", "orders|clicks|xyz", "(orders|clicks)(\\.eu)?", "(?:a|b)+", "(a|b)*c?", "a{2}",
    "a{2,}", "a{1,3}b?", "a{0}", "a??", "a*?", "a+?b", "a{1,2}?", "(|a)", "()", "a||b", "(?<n>a)b", "(?<n1>a)|b",
    "[abc]+", "[^abc]+", "[a-z]+", "[a-zA-Z0-9._-]+", "[a-z-9]+", "[-a]+", "[a-]+", "[\\w-]+", "[\\w-.]+",
    "[\\d-z]+", "[+--]+", "[--a]+", "[]a]+", "[^]a]+", "[^^]", "[\\^]", "[a^]+", "[&]", "[a&]", "[a&b]+", "[.]",
    "[\\].\\[]+", "[ \\t]+", "[!-~]+", "[\\x00-\\x{10ffff}]*", "[^\\d]+", "[\\D\\d]+", "[\\S]+", "[^\\W_]+",
    "\\d+", "\\D+", "\\w+", "\\W+", "a\\sb", "a\\Sb", "a.b", "(?s)a.b",
    "(?s:a.b)", "(?s)a.b|(?-s)a.b", "a[^x]b", "\\p{Alpha}+", "\\p{Lower}+", "\\p{Upper}+", "\\p{Digit}+",
    "\\p{Alnum}+", "\\p{Punct}+", "\\p{Graph}+", "\\p{Print}*", "\\p{Blank}", "\\p{Cntrl}+", "\\p{XDigit}+",
    "\\p{Space}", "\\p{ASCII}*", "\\P{ASCII}+", "\\P{Alpha}+", "[\\p{Alpha}\\d]+", "[^\\p{Punct}]+", "\\p{L}+",
    "\\pL+", "\\p{IsL}+", "\\p{Lu}+", "\\p{Ll}+", "\\P{L}+", "\\PL+", "[\\p{L}\\p{N}.]+", "[^\\p{L}]+", "\\p{So}",
    "(?i)orders", "(?i)ORDERS", "(?i:o)rders", "(?i)[a-c]+", "(?i)[^a-c]+", "(?i)[A-z]+", "(?i)é", "(?i)k",
    "(?i)s", "(?i)[j-l]", "(?i)a(?-i)b", "a(?i)b|B", "(a(?i)b)B?", "(?i)\\x41", "(?i)\\QAb\\E", "(?is)A.B",
    "(?i)\\w+", "(?i)\\p{Alpha}+", "(?i)\\p{L}+", "(?i-)a", "(?-i)A", "(?)a", "^a$", "^a", "a$", "\\Aa\\z", "a\\Z",
    "^orders\\..*$", "^$", "(^a)|b", "a$|b", "(a$|b$)", "orders(\\.eu$)?", "((a|b)$)$", "a$()",
    "a$\\z", "(?i)[@-B]+", "(?i)[k-s]", "a\\Q\\E*", "a{02}", "(?-i:a)B?", "[\\u0061-\\x{63}]+", "\\p{IsLu}+",
    "\\Q.*\\E", "\\Qa.b\\E", "\\Qa+b", "a\\Q\\Eb", "\\Qa\\E*", "\\Qab\\E*", "\\t", "a\\tb", "\\a", "\\e",
    "a\\nb", "a\\rb", "a\\fb", "\\x41", "\\x{1F600}", "\\u0061", "\\u00e9",
    "\\-", "\\.", "\\\\", "\\_schemas", "\\^", "\\é", "a\\+b", "]", "}", "a]", "&", "é", "É", "ß", "日.", "a.b|😀",
    "[😀]", "[ß-ÿ]+", "[^a]", "(a+)+", "(a*)*b", "(a|a)*", "(.|.|.)*X", "((a?){3}){3}", "(a{1,9})+",
)  # fmt: skip

# What Java takes and is refused here.
FOR_JAVA_ALONE = (
    "(?=a)a", "(?!a).*", ".*(?<=a)", ".*(?<!a)", "(?>a)", "a++", "a*+", "a?+", "a{2}+", "(a)\\1", "(?<n>a)\\k<n>",
    "[a[b]]", "[a-c&&[^b]]", "[[:alpha:]]", "\\G", "\\R", "\\X", "\\N{DIGIT ONE}", "\\p{IsGreek}",
    "\\p{InGreek}", "\\p{javaLowerCase}", "\\p{IsAlphabetic}", "\\p{C}", "(?x)a b", "(?m)^a$", "(?d)a", "(?u)a",
    "(?U)\\w", "(?i)\\p{Lower}", "(?i)\\p{Lu}", "a{1001}", "a{2}{3}", "\\b+", "[\\Qa\\E]", "(a{100}){1000}", "a{500}" * 30, "(" * 251 + ")" * 251,
    "\\b{g}a", "\\borders\\b", "orders\\b.*", "a\\Bb", "\\b", "a\\hb", "a\\Hb", "a\\vb", "a\\Vb", "[\\h]", "[a\\V]",
    "\\cG", "[\\cG]", "\\07", "\\0101", "[\\0400]", "[\\N{DIGIT ONE}]", "\\p{IsLatin}", "\\p{InBasicLatin}", "\\p{javaWhitespace}",
    "a$\n", "a$.*", "(a$|b)c", "(a$)+", "a\\Z\n", "a$[^b]", "a$\\Qb\\E", "a$\\s", "{2}", "a|{2}", "^*", "$+", "(?iu)a", "(?s-x)a",
    "\\p{L}" * 21, "a" * 10_001,
)  # fmt: skip

# What Java refuses, too; the last ones are Python's, or RE2's.
FOR_NOBODY = (
    "(", ")", "a)", "(?:", "(?i", "(?", "*", "+a", "a**", "a|*", "(*)", "a*??", "a{", "a{}", "a{2", "a{2,1}",
    "a{ 2}", "[", "[a", "[]", "[^]", "[z-a]", "[a-\\d]", "[a--]", "[\\b]", "[\\R]", "\\", "\\y", "\\E",
    "\\0", "\\08", "\\x4", "\\x{}", "\\x{110000}", "\\u12", "\\c", "\\p", "\\p{", "(?<1n>a)", "(?<n_1>a)",
    "(?<n>a)(?<n>b)", "(?z)a", "(?i-s-i)a", "(?P<n>a)", "(?#no)a", "(?(1)a)", "a{,3}", "\\C",
)  # fmt: skip

_PIECES = (
    "a", "b", "c", "orders", "eu", ".", "\\.", "-", "_", "\\d", "\\w", "\\s", "[abc]", "[^a]", "[a-z]", "[\\w.-]",
    "(a|b)", "(?:eu|us)", "(?i:ab)", "(a.)", "\\Qa.\\E", "\\p{Alpha}", "x", "0", "é",
)  # fmt: skip
_REPEATS = ("", "", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "{0,1}")
_EXOTIC = (
    *_PIECES, "$", "^", "\\Z", "\\z", "\\A", "\\b", "\\n", "\n", "\\R", "\\h", "\\S", "\\W", "\\x41", "\\u00e9", "\\0101", "[^\\s]", "[a&&b]",
    "[\\d-z]", "[k-s]", "(?i)", "(?s)", "(?-i)", "(?i:k)", "(?u)", "(?=a)", "(?!b)", "(?>a)", "(a)\\1", "\\p{Lu}", "\\P{L}", "\\p{Punct}", "|",
    "(", ")", "(a|", "\\Qa$\\E", "]", "}", "\u212a", "\u017f", "É", "s", "K", "\u2028", "(a$|b)",
)  # fmt: skip


def exotic_patterns(count: int, seed: int) -> list[str]:
    """Return patterns of everything that a person may write, many of which are refused."""
    rng = random.Random(seed)
    repeats = (*_REPEATS, *_REPEATS, "++", "{2}{2}", "{,2}", "{02}")
    return [
        "".join(rng.choice(_EXOTIC) + rng.choice(repeats) for _ in range(rng.randint(1, 5)))
        for _ in range(count)
    ]


def ordinary_patterns(count: int, seed: int) -> list[str]:
    """Return patterns of the ordinary kind, the same for the same seed."""
    rng = random.Random(seed)

    def sequence() -> str:
        return "".join(rng.choice(_PIECES) + rng.choice(_REPEATS) for _ in range(rng.randint(1, 5)))

    found = []
    for _ in range(count):
        pattern = "|".join(sequence() for _ in range(rng.choice((1, 1, 1, 2, 3))))
        if rng.random() < 0.2:
            pattern = f"({pattern}){rng.choice(('', '*', '+', '{1,2}'))}"
        found.append(pattern)
    return found

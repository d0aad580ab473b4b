"""Cases that are written by hand: what the commits of projects do not give, as they are indented and end their lines evenly.

Of each: the kind, the variant, the file's name, the file, the old and the new text, and the file that has to come of it,
or None where only refusing is right, because the texts do not say how deep a line belongs,
or say too little.
"""

LOOP = "for a in b:\n    for c in a:\n        go(c)\n    done(a)\n"
RUN = "def run(self, x):\n    if x:\n        self.start()\n    return 1\n"
THING = "class Thing:\n    def run(self, x):\n        if x:\n            self.start()\n        return 1\n"
TABS = RUN.replace("    ", "\t")
MIXED = "class Box {\n\t    constructor() {\n\t\tthis.size = 0;\n\t    }\n\n\t    grow() {\n\t\tthis.size += 1;\n\t    }\n}\n"
CRLF = "alpha\r\nbeta\r\ngamma\r\n"
LF = "alpha\nbeta\ngamma\n"

DEPTHS = [
    # All lines quoted at one depth, where the file has several.
    ("flat_line_added", "f.py", LOOP, "for a in b:\nfor c in a:\ngo(c)\ndone(a)", "for a in b:\nfor c in a:\ngo(c)\nlog(c)\ndone(a)", None),
    ("flat_line_added_at_end", "f.py", LOOP, "for a in b:\nfor c in a:\ngo(c)", "for a in b:\nfor c in a:\ngo(c)\nlog(c)", None),
    ("flat_header_added", "f.py", RUN, "if x:\nself.start()\nreturn 1", "if x:\nif y:\nself.start()\nreturn 1", None),
    ("flat_line_for_line", "f.py", RUN, "if x:\nself.start()\nreturn 1", "if y:\nself.begin()\nreturn 1", RUN.replace("x:\n", "y:\n").replace("start", "begin")),
    ("flat_line_for_line", "f.py", TABS, "if x:\nself.start()\nreturn 1", "if y:\nself.begin()\nreturn 2", TABS.replace("x:\n", "y:\n").replace("start", "begin").replace("1", "2")),
    ("flat_two_for_one", "f.py", RUN, "if x:\nself.start()\nreturn 1", "if x:\nself.begin()\nself.wait()\nreturn 1", None),
    ("flat_statement_for_header", "f.py", LOOP, "for a in b:\nfor c in a:\ngo(c)\ndone(a)", "for a in b:\nstart(a)\ngo(c)\ndone(a)", None),
    ("flat_line_removed", "f.py", LOOP, "for a in b:\nfor c in a:\ngo(c)\ndone(a)", "for a in b:\nfor c in a:\ngo(c)", LOOP.replace("    done(a)\n", "")),
    ("flat_old_only", "f.py", LOOP, "for a in b:\nfor c in a:\ngo(c)\ndone(a)", LOOP.replace("    done", "        log(c)\n    done"), LOOP.replace("    done", "        log(c)\n    done")),
    ("flat_wrapped", "f.py", RUN, "self.start()\nreturn 1", "if y:\nself.start()\nreturn 1", None),
    # The new text has the file's indentation, the old one has not.
    ("new_is_indented", "f.py", RUN, "if x:\n    self.start()", "    if x:\n        self.begin()", RUN.replace("start", "begin")),
    ("new_is_indented", "f.py", RUN, "if x:\n    self.start()", "    if y:\n        self.begin()", RUN.replace("if x", "if y").replace("start", "begin")),
    ("new_is_indented", "f.py", RUN, "\nif x:\n    self.start()\n", "\n    if x:\n        self.begin()\n", RUN.replace("start", "begin")),
    ("new_is_indented", "f.py", TABS, "    if x:\n        self.start()", "\tif x:\n\t\tself.begin()", TABS.replace("start", "begin")),
    ("new_is_indented", "f.py", RUN, "self.start()", "        self.begin()", RUN.replace("start", "begin")),
    ("new_is_indented", "f.py", THING, "if x:\n    self.start()", "        if x:\n            self.begin()\n            self.wait()", THING.replace("start()", "begin()\n            self.wait()")),
    # All lines shifted, in both texts.
    ("shifted", "f.py", THING, "if x:\n    self.start()", "if x:\n    self.start()\n    self.wait()", THING.replace("start()", "start()\n            self.wait()")),
    ("shifted", "f.py", THING, "if x:\n    self.start()\nreturn 1", "if x:\n    self.start()\nelse:\n    self.stop()\nreturn 1", THING.replace("start()\n", "start()\n        else:\n            self.stop()\n")),
    ("shifted_wrapped", "f.py", THING, "if x:\n    self.start()", "with x.lock:\n    if x:\n        self.start()", THING.replace("        if x:\n            self.start()", "        with x.lock:\n            if x:\n                self.start()")),
    ("shifted_tabs", "f.py", THING.replace("    ", "\t"), "if x:\n    self.start()", "if x:\n    self.start()\n    self.wait()", THING.replace("start()", "start()\n            self.wait()").replace("    ", "\t")),
    ("shifted_steps", "f.py", THING, "if x:\n  self.start()", "if x:\n  if y:\n    self.start()", THING.replace("            self.start()", "            if y:\n                self.start()")),
    ("shifted_steps", "f.py", THING, "if x:\nself.start()", "if x:\n  self.begin()", None),
    ("one_depth_left", "f.py", THING, "                    self.start()", "                    self.start()\n        self.wait()", None),
    # The place begins behind its line's indentation.
    ("behind_indentation", "f.py", THING, "self.start()", "self.start()\n            self.wait()", THING.replace("start()", "start()\n            self.wait()")),
    ("behind_indentation", "f.py", THING, "self.start()", "if y:\n    self.start()", THING.replace("            self.start()", "            if y:\n                self.start()")),
    ("behind_indentation", "f.py", THING, "self.start()", "self.start()\nself.wait()", None),
    ("behind_indentation", "f.py", THING, "return 1", "return 1\n\n\ndef other():\n    pass", None),
    ("behind_indentation", "f.py", THING, "    self.start()", "    if y:\n        self.start()", THING.replace("            self.start()", "            if y:\n                self.start()")),
    ("behind_indentation", "f.yaml", "jobs:\n  test:\n    steps:\n      - run: one\n", "- run: one", "- run: one\n- run: two", None),
    ("behind_indentation_moved", "f.py", THING, "return 1", "self.stop()\nreturn 1", None),
    ("behind_indentation_moved", "f.py", THING, "def run(self, x):\n        if x:", "size = 1\ndef run(self, x):\n        if x:", None),
    # The file mixes styles, and each of its depths is quoted by another one.
    ("mixed_styles", "box.js", MIXED, "    grow() {\n        this.size += 1;\n    }", "    grow() {\n        this.size += 2;\n        this.log();\n    }", MIXED.replace("+= 1;", "+= 2;\n\t\tthis.log();")),
    ("mixed_styles", "box.js", MIXED, "    grow() {\n        this.size += 1;\n    }", "    grow() {\n        this.size += 1;\n            this.log();\n    }", None),
]

LINE_ENDS = [
    ("old_crlf_new_lf", "c.txt", CRLF, "alpha\r\nbeta", "alpha\nbeta2", CRLF.replace("beta", "beta2")),
    ("old_crlf_new_lf", "c.txt", CRLF, "beta\r\n", "beta2\nbeta3\n", CRLF.replace("beta", "beta2\r\nbeta3")),
    ("old_lf_new_crlf", "c.txt", CRLF, "alpha\nbeta", "alpha\r\nbeta2\r\nx", CRLF.replace("beta", "beta2\r\nx")),
    ("new_crlf", "c.txt", LF, "alpha\nbeta", "alpha\r\nbeta2", LF.replace("beta", "beta2")),
    ("new_crlf", "c.txt", LF, "beta", "beta2\r\nbeta3", LF.replace("beta", "beta2\nbeta3")),
    ("both_crlf", "c.txt", LF, "alpha\r\nbeta\r\n", "alpha\r\nbeta2\r\n", LF.replace("beta", "beta2")),
    ("old_crlf", "c.txt", LF, "alpha\r\nbeta", "alpha\nbeta2", LF.replace("beta", "beta2")),
    ("new_text_lf", "c.txt", CRLF, "beta\r\ngamma", "beta\ngamma2", CRLF.replace("gamma", "gamma2")),
]

# A line that stands for code which was left out would take the place of that code.
PLACEHOLDERS = [
    ("added", "f.py", THING, "            self.start()", "            self.begin()\n        # ... existing code ...", None),
    ("added", "f.py", THING, "        return 1", "        return 2\n    (rest of methods ...)", None),
    ("instead_of_code", "f.py", THING, THING, "class Thing:\n    size = 1\n\n    # ... rest of the code ...\n", None),
    ("is_there", "f.py", THING + "    # ... existing code ...\n", "        return 1\n    # ... existing code ...", "        return 2\n    # ... existing code ...", THING.replace("1", "2") + "    # ... existing code ...\n"),
    ("ordinary_dots", "f.py", THING, "            self.start()", "            ...  # Starts the rest of it later.", THING.replace("self.start()", "...  # Starts the rest of it later.")),
]


def own_cases():
    for kind, cases in (("depth", DEPTHS), ("line_ends", LINE_ENDS), ("placeholder", PLACEHOLDERS)):
        for number, (variant, name, before, old, new, after) in enumerate(cases, 1):
            yield {
                "id": f"{kind}-{number:02}",
                "source": None,
                "kind": kind,
                "variant": variant,
                "file_path": name,
                "before": before,
                "instruction": f"Have {name} do what the new text says.",
                "old_string": old,
                "new_string": new,
                "after": [before if after is None else after],
                "expect": "refuse" if after is None else "apply",
            }

package pmns

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing/fstest"
)

// A fileCase is a name space file, and what it means to the C library and to us.
type fileCase struct {
	name  string
	text  string            // of the file "n"
	files map[string]string // others
	names string            // what a good file has, "name PMID" in order, with ", " between
	err   string            // the report on a bad file
	// ref is the message of the C library where its report differs from ours in
	// more than the end: in the place, or in what it shows of the line.
	ref string
	// differs says why the C library does not agree at all.
	differs string
}

var goodFiles = []fileCase{
	{name: "empty", text: "root {\n}\n"},
	{name: "one line", text: "root { a 1:2:3 b 1:2:4 c } c { d 1:2:5 }\n", names: "a 1.2.3, b 1.2.4, c.d 1.2.5"},
	{name: "nodes in any order", text: "b.c {\n\td 1:2:3\n}\nb {\n\tc\n\ta 1:1:1\n}\nroot {\n\tb\n}\n", names: "b.c.d 1.2.3, b.a 1.1.1"},
	{name: "file order", text: "root { z 1:0:0 b y 1:0:1 a } a { q 1:0:2 c 1:0:3 } b { x 1:0:4 }\n",
		names: "z 1.0.0, b.x 1.0.4, y 1.0.1, a.q 1.0.2, a.c 1.0.3"},
	{name: "blanks around colons", text: "root { a 1 : 2 :\t3 b 1: 2 :4 }\n", names: "a 1.2.3, b 1.2.4"},
	{name: "all white space", text: "root\t{\r\n\fa 1:2:3\v}\r\n", names: "a 1.2.3"},
	{name: "dynamic roots", text: "root { a 5:*:* b 6 c 1*2 d 510:*:* }\n", names: "a 5.*.*, b 6.*.*, c 1.*.*, d 510.*.*"},
	{name: "sloppy PMIDs", text: "root { a 1:2:3:4 b 1:2:3* c 001:02:3 d 1:2:3:* e 0:0:0 }\n",
		names: "a 1.2.3, b 1.2.3, c 1.2.3, d 1.2.3, e 0.0.0"},
	{name: "largest PMID", text: "root { a 510:4095:1023 }\n", names: "a 510.4095.1023"},
	{name: "missing braces at the end", text: "root { a 1:2:3\n", names: "a 1.2.3"},
	{name: "several names", text: "root { a 1:2:3 b c 1:2:3 } b { x 1:2:3 }\n", names: "a 1.2.3, b.x 1.2.3, c 1.2.3"},
	{name: "a leaf called root", text: "root { root 1:2:3 }\n", names: "root 1.2.3"},
	{name: "nodes without metrics", text: "root { a b 1:1:1 c } a { } c { d }\nc.d { }\n", names: "b 1.1.1"},
	{name: "longest line", text: "root { a 1:2:3 }" + strings.Repeat(" ", maxLine-16) + "\n", names: "a 1.2.3"},
	{name: "longer before preprocessing", text: "root {\n a 1:2:3 /*" + strings.Repeat("x", 1000) + "*/\n}\n", names: "a 1.2.3"},
	{name: "comments", text: "/* c */ root /**/ { /* x\n % y */ a 1:2:3 /* / ** /* */ }\n", names: "a 1.2.3"},
	{name: "macro values", text: "#define A 5\n#define W \"1 : 2\"\n#define Q '3:'\n#define E\nroot { E a A:A:A A1 5:A:6 b W:9 c Q 4:A d 2A:1:1 A_ 1:1:1 }\n",
		names: "a 5.5.5, A1 5.5.6, b 1.2.9, c 3.4.5, d 25.1.1, A_ 1.1.1"},
	{name: "one pass of macros", text: "#define A B\n#define B 2\nroot { A 1:1:1 b 1:1:B }\n", names: "B 1.1.1, b 1.1.2"},
	{name: "macro undefined and again", text: "#define A 1\n#undef A\n#undef B\n#define A 2\nroot { a A:A:A }\n", names: "a 2.2.2"},
	{name: "directive by prefix", text: "#defineX 2\n#ifdefX\nroot { a 1:1:X }\n#endif\n", names: "a 1.1.2"},
	{name: "conditions", text: "root {\n#ifdef A\na 1:1:1\n#else\nb 1:1:2\n#endif\n#ifndef A\nc 1:1:3\n#else\nd 1:1:4\n#endif\n}\n",
		names: "b 1.1.2, c 1.1.3"},
	{name: "skipped lines", text: "#define B 2\n#ifdef A\n#define B 3\n#undef B\n#shell \"false\"\n#include nothing\n#else\nroot { a 1:1:B }\n#endif\n", names: "a 1.1.2"},
	{name: "skipped hash", text: "#ifdef A\n# x\n%\n#endif\nroot { }\n", differs: "an unknown control line makes pmcpp forget that it skips"},
	{name: "comment across a condition", text: "#ifdef A\n/* x\n#endif\n*/ y\n#endif\nroot { }\n"},
	{name: "linemarkers", text: "# 12 \"f\"\nroot {\n  # 3 \"g\"\na 1:2:3\n#5\"h\" 1 2\n}\n", names: "a 1.2.3"},
	{name: "include shares macros", text: "#include <m>\n#ifdef B\nroot {\n#include \"sub/b\" \n}\n#include \"end\"\n",
		files: map[string]string{"m": "#define B 4\n", "sub/b": "b B:1:2\n#include \"c\"\n", "c": "c 1:1:3\n", "end": "#endif\n"},
		names: "b 4.1.2, c 1.1.3"},
	{name: "deepest include", text: "root {\n#include \"1\"\n}\n",
		files: map[string]string{"1": "#include \"2\"\n", "2": "#include \"3\"\n", "3": "#include \"4\"\n", "4": "a 1:1:1\n"}, names: "a 1.1.1"},
	{name: "last line without newline", text: "root { a 1:2:3 }", names: "a 1.2.3", differs: "pmcpp drops the line"},
}

const title = "Error Parsing ASCII PMNS: "

var badFiles = []fileCase{
	{name: "nothing", text: "", err: title + `No name space entry for "root"`},
	{name: "no root", text: "b {\n}\n", err: title + `No name space entry for "root"`},
	{name: "two roots", text: "root {\n}\nroot {\n}\n", err: title + `Multiple name space entries for "root"`},
	{name: "undefined", text: "root {\n\ta\n}\n", err: title + `Cannot find definition for non-terminal node "a" in name space`},
	{name: "undefined below", text: "root {\n a\n}\na { b }\n", err: title + `Cannot find definition for non-terminal node "a.b" in name space`},
	{name: "disconnected", text: "root {\n}\nb {\n}\n", err: title + `Disconnected subtree ("b") in name space`},
	{name: "the last of the disconnected", text: "b { } root { } c { q } d { }\n", err: title + `Disconnected subtree ("d") in name space`},
	{name: "root in a path", text: "root {\n a 1:2:3\n}\nroot.b { c 1:2:4 }\n", err: title + `Disconnected subtree ("root.b") in name space`},
	{name: "a leaf defined", text: "root { a 1:2:3 } a { b 1:2:3 }\n", err: title + `Disconnected subtree ("a") in name space`},
	{name: "defined twice", text: "root { a } a { x 1:2:3 } a { y 1:2:4 }\n", err: title + `Disconnected subtree ("a") in name space`},
	{name: "ends in a path", text: "root {\n} x\n", err: title + `Disconnected subtree ("x") in name space`},

	{name: "path inside", text: "root {\n    b.c 1:2:3\n}\n", err: "[n:2] " + title + "Expected NAME or }\n    b.c 1:2:3\n    ^"},
	{name: "path after a name", text: "root {\n a b.c 1:2:3\n}\n", err: "[n:2] " + title + "Expected NAME, PMID or }\n    a b.c 1:2:3\n      ^"},
	{name: "two PMIDs", text: "root {\n\ta 1:2:3 4:5:6\n}\n", err: "[n:2] " + title + "Expected NAME or }\n    a 1:2:3 4:5:6\n            ^"},
	{name: "no path", text: "{\n\n}\n", err: "[n:1] " + title + "Expected NAME or PATH\n    {\n    ^"},
	{name: "no brace", text: "root x {\n\n}\n", err: "[n:1] " + title + "{ expected\n    root x {\n         ^"},
	{name: "brace too many", text: "root {\n} }\n", err: "[n:2] " + title + "Expected NAME or PATH\n    } }\n      ^"},
	{name: "nested braces", text: "root { a\n b { c 1:2:3 }\n}\n", err: "[n:2] " + title + "Expected NAME, PMID or }\n    b { c 1:2:3 }\n      ^"},
	{name: "brace stuck to a name", text: "root{ a 1:2:3 }\n", err: "[n:1] " + title + "Expected NAME or PATH\n    root{ a 1:2:3 }\n    ^"},
	{name: "brace stuck to a PMID", text: "root { a 1:2:3}\n", err: "[n:1] " + title + "Expected NAME, PMID or }\n    root { a 1:2:3}\n             ^"},
	{name: "underscore first", text: "root { _a 1:2:3 }\n", err: "[n:1] " + title + "Expected NAME or }\n    root { _a 1:2:3 }\n           ^"},
	{name: "not ASCII", text: "root {\n aé 1:2:3 }\n", err: "[n:2] " + title + "Expected NAME or }\n    aé 1:2:3 }\n    ^"},
	{name: "tabs under the caret", text: "root {\n a\t\t1:2:3x }\n", err: "[n:2] " + title + "Expected NAME, PMID or }\n    a\t1:2:3x }\n     \t^"},
	{name: "colon joins", text: "root {\n a : b }\n", err: "[n:2] " + title + "Expected NAME or }\n    a:b }\n    ^"},
	{name: "too many colons", text: "root { a 1::::2 }\n", err: "[n:1] " + title + "Expected NAME, PMID or }\n    root { a 1::::2 }\n             ^"},

	{name: "item", text: "root {\n\ta 1:2:3000\n}\n", err: "[n:2] " + title + "Illegal item field in PMID\n    a 1:2:3000\n      ^"},
	{name: "cluster", text: "root {\n\ta 1:5000:3 b\n}\n", err: "[n:2] " + title + "Illegal cluster field in PMID\n    a 1:5000:3 b\n      ^"},
	{name: "domain", text: "root {\n\ta 511:2:3\n}\n", err: "[n:2] " + title + "Illegal domain field in PMID\n    a 511:2:3\n      ^"},
	{name: "dynamic domain", text: "root {\n\ta 600:*:*\n}\n", err: "[n:2] " + title + "Illegal domain field in dynamic PMID\n    a 600:*:*\n      ^"},
	{name: "lone domain", text: "root {\n\ta 511\n}\n", err: "[n:2] " + title + "Illegal domain field in dynamic PMID\n    a 511\n      ^"},
	{name: "two fields", text: "root {\n\ta 1:2\n}\n", err: "[n:2] " + title + "Illegal PMID\n    a 1:2\n      ^"},
	{name: "half a star", text: "root {\n\ta 5:*:1\n}\n", err: "[n:2] " + title + "Illegal PMID\n    a 5:*:1\n      ^"},
	{name: "star domain", text: "root {\n\ta *:*:*\n}\n", err: "[n:2] " + title + "Illegal PMID\n    a *:*:*\n      ^"},
	{name: "third star", text: "root {\n\ta 5:*:*:*\n}\n", err: "[n:2] " + title + "Illegal PMID\n    a 5:*:*:*\n      ^"},
	{name: "PMID over two lines", text: "root {\n\ta 1:\n2:3\n}\n", err: "[n:2] " + title + "Illegal PMID\n    a 1:\n      ^"},
	{name: "PMID where none belongs", text: "root { a 1:2:3\n:4 b 1:2:4 }\n", err: "[n:2] " + title + "Illegal PMID\n    :4 b 1:2:4 }\n    ^"},
	{name: "huge item", text: "root {\n\ta 1:2:99999999999999999999\n}\n", err: "[n:2] " + title + "Illegal item field in PMID\n    a 1:2:99999999999999999999\n      ^", differs: "atoi overflows"},

	{name: "duplicate name", text: "root {\n\ta 1:2:3 b 1:2:4\n\ta 1:2:4\n}\n\n", ref: `Duplicate name "a" in subtree for "root"`,
		err: "[n:3] " + title + "Duplicate name \"a\" in subtree for \"root\"\n    a 1:2:4\n    ^"},
	{name: "long line", text: "root {\n}" + strings.Repeat(" ", maxLine) + "\n", ref: "Absurdly long line, cannot recover",
		err: "[n:2] " + title + "Absurdly long line, cannot recover\n    }" + strings.Repeat(" ", 39) + "..."},
	{name: "macro makes the line long", text: "#define A " + strings.Repeat("1", 100) + "\nroot { A A A }\n",
		differs: "pmcpp ends with realloc(): invalid next size",
		err:     "[n:2] " + title + "Absurdly long line, cannot recover\n    root { " + strings.Repeat("1", 33) + "..."},
	{name: "comment sign of others", text: "# x\nroot {\n}\n", ref: "Illegal line number control number",
		err: "[n:1] " + title + "Illegal line number control number\n    # x"},
	{name: "linemarker without file", text: "\n# 12\nroot {\n}\n", ref: "Illegal line number control number",
		err: "[n:2] " + title + "Illegal line number control number\n    # 12"},
	{name: "linemarker with a letter", text: "# 12x \"f\"\nroot {\n}\n", ref: "Illegal line number control number",
		err: "[n:1] " + title + "Illegal line number control number\n    # 12x \"f\""},

	{name: "after a linemarker", text: "# 12 \"foo.c\"\nroot {\n\t% \n}\n", err: "[foo.c:13] " + title + "Expected NAME or }\n    % \n    ^"},
	{name: "macro expanded", text: "#define A 5\nroot {\n A 1\n}\n", err: "[n:3] " + title + "Expected NAME or }\n    5 1\n    ^"},
	{name: "in an included file", text: "#include \"inc\"\n}\n", files: map[string]string{"inc": "root {\n a 1:2:3\n%\n"},
		err: "[inc:3] " + title + "Expected NAME or }\n    %\n    ^"},
	{name: "after an included file", text: "\n#include \"inc\"\n%}\n", files: map[string]string{"inc": "root {\n# 77 \"x\"\n a 1:2:3\n"},
		err: "[n:3] " + title + "Expected NAME or }\n    %}\n    ^"},
	{name: "after a comment", text: "/* a\n b */ % root { }\n", err: "[n:2] " + title + "Expected NAME or PATH\n    % root { }\n    ^"},
	{name: "blank before a directive", text: " #define A 1\nroot { }\n", ref: "Illegal line number control number",
		err: "[n:1] " + title + "Illegal line number control number\n    #define A 1"},
	{name: "comment before a directive", text: "/**/#define A 1\nroot { }\n", ref: "Illegal line number control number",
		err: "[n:1] " + title + "Illegal line number control number\n    #define A 1"},

	{name: "linemarker with a blank", text: "# 1 \"f g\"\nroot { a 1:2:3 % }\n",
		err: "[f g:1] Error Parsing ASCII PMNS: Expected NAME or }\n    root { a 1:2:3 % }\n                   ^", ref: "Expected NAME or }"},

	cpp("Macro redefinition", 2, "#define A 1\n#define A 1\n"),
	cpp("Missing macro name", 1, "#define\n"),
	cpp("Missing macro name", 1, "#ifdef \n"),
	cpp("Missing macro name", 1, "#undef\n"),
	cpp("Illegal character in macro name", 1, "#define 5\n"),
	cpp("Illegal character in macro name", 1, "#define A-b 5\n"),
	cpp("Unterminated value string in #define", 1, "#define A \"b c\n"),
	cpp("Unexpected extra text in a control line", 1, "#define A \"b\" c\n"),
	cpp("Unexpected extra text in a control line", 1, "#define A 'b'c\n"),
	cpp("Unexpected extra text in a control line", 1, "#define A b c\n"),
	cpp("Unexpected extra text in a control line", 2, "#ifdef A\n#define A A B C\n"),
	cpp("Unexpected extra text in a control line", 1, "#undef A B\n"),
	cpp("Unexpected extra text in a control line", 1, "#ifndef A B\n"),
	cpp("Unexpected extra text in a control line", 1, "#else junk\n"),
	cpp("Unexpected extra text in a control line", 2, "#ifdef A\n#endifx\n"),
	cpp("Nested #ifdef or #ifndef", 2, "#ifdef A\n#ifndef B\n"),
	cpp("No matching #ifdef or #ifndef for #endif", 3, "root {\n}\n#endif\n"),
	cpp("No matching #ifdef or #ifndef for #else", 1, "#else\n"),
	{name: "second else", text: "#ifdef A\n#else\n#else\n#endif\n", differs: "pmcpp is of several minds",
		err: "[n:3] " + title + "No matching #ifdef or #ifndef for #else\n    #else"},
	cpp("End of input and no matching #endif for #ifdef or #ifndef at line 2", 2, "\n#ifdef A\n"),
	cpp("Comment at line 2 not terminated before end of file", 2, "root { }\n/* comment\n\n"),
	cpp(`Expected " or < after #include`, 1, "#include inc\n"),
	cpp(`Expected " after file name`, 1, "#include \"inc\n"),
	cpp(`Expected > after file name`, 1, "#include <inc\"\n"),
	cpp("Unexpected extra text in #include line", 1, "#include \"inc\" x\n"),
	cpp("Cannot open file for #include", 1, "#include \"nosuch\"\n"),
	cpp("Cannot open file for #include", 1, "#include \"/nosuch/n\"\n"),
	cpp("#include and/or #shell nesting too deep", 1, "#include \"n\"\n"),
	{name: "shell", text: "root {\n#shell \"echo a 1:2:3\"\n}\n", differs: "pmcpp runs the command",
		err: "[n:2] " + title + "#shell is not supported: run the command beforehand and #include its output\n    #shell \"echo a 1:2:3\""},
}

// cpp returns a case that makes the C library's preprocessor complain. The C message has a
// special form; ours has the form of our other errors.
func cpp(msg string, line int, text string) fileCase {
	at := strings.Split(text, "\n")[line-1]
	return fileCase{name: fmt.Sprintf("%.60s", strings.ReplaceAll(strings.TrimSpace(text), "/", "|")), text: text, ref: msg,
		err: fmt.Sprintf("[n:%d] %s%s\n    %s", line, title, msg, at)}
}

// all is the case's file together with the others.
func (c fileCase) all() map[string]string {
	files := map[string]string{"n": c.text}
	for name, text := range c.files {
		files[name] = text
	}
	return files
}

// openMap is an Open for a Loader that reads from memory.
func openMap(files map[string]string) func(string) (io.ReadCloser, error) {
	fsys := make(fstest.MapFS)
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return func(name string) (io.ReadCloser, error) {
		if info, err := fs.Stat(fsys, name); err == nil && info.IsDir() {
			return nil, fs.ErrInvalid
		}
		return fsys.Open(name)
	}
}

// listing is the content of a tree as the cases give it.
func listing(t *Tree) string {
	var lines []string
	for name, id := range t.All() {
		lines = append(lines, name+" "+id.String())
	}
	return strings.Join(lines, ", ")
}

package pmns

import (
	"fmt"
	"strings"
)

// directive executes a control line. done is false for a line that starts with a
// hash sign but is not a control line.
//
// Keywords match by prefix, as in pmcpp: "#defineX 2" defines X.
func (p *preprocessor) directive(text string, here place) (done bool, err error) {
	for _, d := range [...]struct {
		keyword string
		do      func(*preprocessor, string, place) error
	}{
		{"#define", (*preprocessor).define},
		{"#undef", (*preprocessor).undef},
		{"#ifdef", func(p *preprocessor, arg string, here place) error { return p.ifdef(arg, here, true) }},
		{"#ifndef", func(p *preprocessor, arg string, here place) error { return p.ifdef(arg, here, false) }},
		{"#else", (*preprocessor).invert},
		{"#endif", (*preprocessor).endif},
		{"#include", (*preprocessor).include},
		{"#shell", (*preprocessor).shell},
	} {
		if arg, ok := strings.CutPrefix(text, d.keyword); ok {
			return true, d.do(p, trim(arg), here)
		}
	}
	return false, nil
}

const extraText = "Unexpected extra text in a control line"

func (p *preprocessor) define(arg string, here place) error {
	name, arg, err := macroName(arg, here)
	if err != nil {
		return err
	}
	value := arg
	switch {
	case arg == "":
	case arg[0] == '"' || arg[0] == '\'':
		var ok bool
		if value, arg, ok = strings.Cut(arg[1:], arg[:1]); !ok {
			return here.fault("Unterminated value string in #define")
		}
		if arg != "" {
			return here.fault(extraText)
		}
	case strings.ContainsFunc(arg, isBlank):
		return here.fault(extraText)
	}
	if p.cond.skip {
		return nil
	}
	if _, ok := p.macros[name]; ok {
		return here.fault("Macro redefinition")
	}
	p.macros[name] = value
	return nil
}

func (p *preprocessor) undef(arg string, here place) error {
	name, arg, err := macroName(arg, here)
	if err != nil {
		return err
	}
	if arg != "" {
		return here.fault(extraText)
	}
	if !p.cond.skip {
		delete(p.macros, name)
	}
	return nil
}

func (p *preprocessor) ifdef(arg string, here place, want bool) error {
	name, arg, err := macroName(arg, here)
	if err != nil {
		return err
	}
	if arg != "" {
		return here.fault(extraText)
	}
	if p.cond.open {
		return here.fault("Nested #ifdef or #ifndef")
	}
	_, defined := p.macros[name]
	p.cond = conditional{open: true, skip: defined != want, at: here}
	return nil
}

// invert executes #else: it inverts the condition, once. pmcpp accepts a second
// #else or refuses it with an unrelated message, depending on the condition.
func (p *preprocessor) invert(arg string, here place) error {
	if arg != "" {
		return here.fault(extraText)
	}
	if !p.cond.open || p.cond.turned {
		return here.fault("No matching #ifdef or #ifndef for #else")
	}
	p.cond.skip, p.cond.turned = !p.cond.skip, true
	return nil
}

func (p *preprocessor) endif(arg string, here place) error {
	if arg != "" {
		return here.fault(extraText)
	}
	if !p.cond.open {
		return here.fault("No matching #ifdef or #ifndef for #endif")
	}
	p.cond = conditional{}
	return nil
}

func (p *preprocessor) include(arg string, here place) error {
	if p.cond.skip {
		return nil
	}
	quote := `"`
	switch {
	case strings.HasPrefix(arg, `"`):
	case strings.HasPrefix(arg, "<"):
		quote = ">"
	default:
		return here.fault(`Expected " or < after #include`)
	}
	name, rest, ok := strings.Cut(arg[1:], quote)
	if !ok {
		return here.fault("Expected " + quote + " after file name")
	}
	if rest != "" {
		return here.fault("Unexpected extra text in #include line")
	}
	if len(p.files) >= maxIncludeDepth {
		return here.fault("#include and/or #shell nesting too deep")
	}
	if p.includes++; p.includes > maxIncludes {
		return here.fault(fmt.Sprintf("More than %d #include lines", maxIncludes))
	}
	name, f, err := p.loader.openInclude(name, p.files[0].name)
	if err != nil {
		return here.fault("Cannot open file for #include")
	}
	p.push(name, f, f)
	return nil
}

// shell refuses #shell, which runs a command in pmcpp: whoever can write a name
// space file could run commands as the user who reads it.
func (p *preprocessor) shell(_ string, here place) error {
	if p.cond.skip {
		return nil
	}
	return here.fault("#shell is not supported: run the command beforehand and #include its output")
}

// macroName splits the name of a macro off the argument of a directive.
func macroName(arg string, here place) (name, rest string, err error) {
	name, rest = arg, ""
	if i := strings.IndexFunc(arg, isBlank); i >= 0 {
		name, rest = arg[:i], trim(arg[i:])
	}
	if name == "" {
		return "", "", here.fault("Missing macro name")
	}
	for i := range len(name) {
		if !isWord(name[i]) || i == 0 && isDigit(name[i]) {
			return "", "", here.fault("Illegal character in macro name")
		}
	}
	return name, rest, nil
}

// expand replaces the words of s that are macros. Macros in the replacement are
// not expanded, so that the result is bounded. A result that is too long for a
// line is truncated; it is an error anyway.
func expand(s string, macros map[string]string) string {
	if len(macros) == 0 {
		return s
	}
	var out []byte
	done := 0 // s[:done] is in out
	for i := 0; i < len(s) && len(out) <= maxLine; {
		if !isWord(s[i]) || isDigit(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && isWord(s[i]) {
			i++
		}
		if value, ok := macros[s[start:i]]; ok {
			out = append(append(out, s[done:start]...), value...)
			done = i
		}
	}
	if done == 0 {
		return s
	}
	return string(append(out, s[done:]...))
}

func trim(s string) string { return strings.Trim(s, " \t\v\f\r") }
func isBlank(r rune) bool  { return r < 128 && isSpace(byte(r)) }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

package toolcmp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Line is a command line of a table.
type Line struct {
	Place   string     // "FILE:LINE"
	Part    string     // of the table, of %part
	Text    string     // as in the table
	Args    []string   // the tool, and after it the arguments
	Env     []string   // NAME=VALUE
	Before  [][]string // commands of %before
	Masks   []string   // names of %mask
	Differs string     // why the two differ; empty if they must not
}

// Tool is the name of the line's tool.
func (l Line) Tool() string { return l.Args[0] }

// String returns the line with its position.
func (l Line) String() string { return l.Place + ": " + l.Text }

// ReadTable reads a table. vars are the variables that its lines may use.
func ReadTable(file string, vars map[string]string) ([]Line, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseTable(file, string(text), vars)
}

func parseTable(file, text string, vars map[string]string) (lines []Line, err error) {
	var next Line // what the directives say about the next line
	n := 0
	for s := range strings.Lines(text) {
		n++
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			continue
		}
		next.Place, next.Text = fmt.Sprintf("%s:%d", file, n), s
		if s[0] == '%' {
			err = next.applyDirective(s[1:], vars)
		} else {
			var l Line
			l, err = next.parseCommand(vars)
			lines = append(lines, l)
			next.Differs = ""
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", next.Place, err)
		}
	}
	if next.Differs != "" {
		return nil, fmt.Errorf("%s: %%differs without a line below it", file)
	}
	return lines, nil
}

// parseCommand returns l with the words of its text.
func (l Line) parseCommand(vars map[string]string) (Line, error) {
	words, err := splitWords(l.Text, vars)
	if err != nil {
		return l, err
	}
	for len(words) > 0 && isSetting(words[0]) {
		l.Env, words = append(slices.Clip(l.Env), words[0]), words[1:]
	}
	if len(words) == 0 {
		return l, errors.New("no command")
	}
	l.Args = words
	return l, nil
}

// isSetting reports whether a word is NAME=VALUE.
func isSetting(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// applyDirective applies a directive. s is its text after "%".
func (l *Line) applyDirective(s string, vars map[string]string) error {
	name, rest, _ := strings.Cut(s, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "part":
		*l = Line{Place: l.Place, Part: rest}
	case "before":
		words, err := splitWords(rest, vars)
		switch {
		case err != nil:
			return err
		case len(words) == 0:
			l.Before = nil
		default:
			l.Before = append(slices.Clip(l.Before), words)
		}
	case "env":
		words, err := splitWords(rest, vars)
		if err != nil {
			return err
		}
		l.Env = words
	case "mask":
		l.Masks = strings.Fields(rest)
		for _, m := range l.Masks {
			if _, ok := masks[m]; !ok {
				return fmt.Errorf("no mask %q", m)
			}
		}
	case "differs":
		if rest == "" {
			return errors.New("%differs without a reason")
		}
		l.Differs = rest
	default:
		return fmt.Errorf("unknown directive %%%s", name)
	}
	return nil
}

// splitWords splits a line into words as a shell does.
func splitWords(s string, vars map[string]string) (words []string, err error) {
	var word []byte
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == '\'' && c != quote:
			word = append(word, c)
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words, word, in = append(words, string(word)), nil, false
			}
		case c == '\\' && i+1 < len(s) && (quote == 0 || strings.IndexByte("\\\"$", s[i+1]) >= 0):
			i++
			word, in = append(word, s[i]), true
		case c == '$' && i+1 < len(s):
			name, n := cutVariable(s[i+1:])
			value, ok := vars[name]
			if !ok {
				return nil, fmt.Errorf("no variable %q", name)
			}
			word, in = append(word, value...), true
			i += n
		default:
			word, in = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unmatched %c", quote)
	}
	if in {
		words = append(words, string(word))
	}
	return words, nil
}

// cutVariable returns the name at the start of s, with or without braces, and the length of the
// name and the braces in bytes.
func cutVariable(s string) (name string, n int) {
	if name, _, ok := strings.Cut(s, "}"); ok && s[0] == '{' {
		return name[1:], len(name) + 1
	}
	for n < len(s) && s[n] >= 'A' && s[n] <= 'Z' {
		n++
	}
	return s[:n], n
}

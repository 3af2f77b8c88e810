package main

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"
)

// A kind is what an item of a list is.
type kind int

const (
	none       kind = iota // the place of an error
	comment                // text has its lines without #, words with a blank before each
	blank                  // text is the line
	groupStart             // text is the name of the group
	metric                 // text is the name of the metric
	groupEnd
)

// An item is a part of a list.
type item struct {
	kind   kind
	text   string
	symbol string // of a metric
	index  int    // of a metric in its group
	line   int
}

// A reader is where in a list a program is.
type reader struct {
	name     string
	line     int
	comments []string // lines of a comment that has not ended
	inGroup  bool
	index    int // of the next metric
}

// parse yields the items of a list, and at its end the error in it, if any. A carriage return ends
// a line, too.
func parse(in io.Reader, name string) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		p := &reader{name: name}
		lines := bufio.NewReader(in)
		for {
			line, rerr := lines.ReadString('\n')
			if rerr != nil && rerr != io.EOF {
				yield(item{}, fmt.Errorf("[%s:%d] %w", name, p.line, rerr))
				return
			}
			parts := strings.Split(line, "\r")
			if parts[len(parts)-1] == "" {
				parts = parts[:len(parts)-1] // behind a carriage return at the end of the file, or no line at all
			}
			for _, part := range parts {
				if !p.add(strings.TrimSuffix(part, "\n"), yield) {
					return
				}
			}
			if rerr != nil {
				p.end(yield)
				return
			}
		}
	}
}

// add yields what a line is. It returns false if that was the last.
func (p *reader) add(line string, yield func(item, error) bool) bool {
	p.line++
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) > 0 && words[0] == "#" {
		p.comments = append(p.comments, strings.Join(append([]string{""}, words[1:]...), " "))
		return true
	}
	if !p.endComment(yield) {
		return false
	}
	switch {
	case len(words) == 0:
		return yield(item{kind: blank, text: line, line: p.line}, nil)
	case len(words) == 2 && words[1] == "{" && p.inGroup:
		file := p.name
		if file == stdinName { // as it is in the one message of PCP's pmgenmap
			file = ""
		}
		return p.fail(yield, fmt.Errorf("[%s:%d] nested group?", file, p.line))
	case len(words) == 2 && words[1] == "{":
		p.inGroup, p.index = true, 0
		return yield(item{kind: groupStart, text: words[0], line: p.line}, nil)
	case len(words) == 2 && p.inGroup:
		p.index++
		return yield(item{metric, words[0], words[1], p.index - 1, p.line}, nil)
	case len(words) == 1 && words[0] == "}":
		p.inGroup = false
		return yield(item{kind: groupEnd, line: p.line}, nil)
	}
	return p.fail(yield, fmt.Errorf("[%s:%d] syntax error", p.name, p.line))
}

// fail yields an error, with that of a group that has no end.
func (p *reader) fail(yield func(item, error) bool, err error) bool {
	if p.inGroup {
		err = fmt.Errorf("%w\n%w", err, p.unterminated())
	}
	yield(item{line: p.line}, err)
	return false
}

func (p *reader) unterminated() error {
	return fmt.Errorf("[%s:%d] unterminated group?", p.name, p.line)
}

// endComment yields a comment that ends here.
func (p *reader) endComment(yield func(item, error) bool) bool {
	if len(p.comments) == 0 {
		return true
	}
	text := strings.Join(p.comments, "\n")
	p.comments = nil
	return yield(item{kind: comment, text: text, line: p.line}, nil)
}

// end yields what is left at the end of the list.
func (p *reader) end(yield func(item, error) bool) {
	if p.inGroup {
		yield(item{line: p.line}, p.unterminated())
		return
	}
	p.endComment(yield)
}

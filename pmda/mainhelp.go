package pmda

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// readHelp lets the texts of a help file replace the Agent's. Without the file
// the agent serves on, like C agents.
func (d *Daemon) readHelp(path string, log *slog.Logger) {
	texts, err := d.Agent.loadHelp(path)
	if err != nil {
		log.Warn(fmt.Sprintf("PMDA %s: Unable to open help text file(s) from %q: %v", d.Agent.Name, path, pdu.FromError(err)), slog.Any("err", err))
		return
	}
	d.Agent.Use(func(next Handler) Handler { return helpFileTexts{next, texts} })
}

// helpFileTexts prefers the texts of a help file.
type helpFileTexts struct {
	Handler
	texts map[pdu.TextTarget]helpText
}

func (h helpFileTexts) Unwrap() Handler { return h.Handler }

func (h helpFileTexts) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	t, ok := h.texts[of]
	switch {
	case !ok:
		return h.Handler.Text(ctx, r, of, kind)
	case kind&pdu.TextOneLine != 0:
		return t.line, nil
	}
	return t.help, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

type helpText struct{ line, help string }

func (a *Agent) loadHelp(path string) (map[pdu.TextTarget]helpText, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return a.parseHelp(f, path)
}

// parseHelp reads the source form of help texts: an entry begins with a line "@
// KEY ONE-LINE-TEXT", KEY being a metric's name or PMID or an instance domain;
// the lines up to the next entry are the text, without newlines at its end. Lines
// that begin with # are comments.
func (a *Agent) parseHelp(r io.Reader, name string) (map[pdu.TextTarget]helpText, error) {
	texts := map[pdu.TextTarget]helpText{}
	in := bufio.NewReader(r)
	var key pdu.TextTarget
	var line string
	var help strings.Builder
	open := false
	enter := func() {
		if open {
			texts[key] = helpText{line, strings.TrimRight(help.String(), "\n")}
		}
		help.Reset()
	}
	for n := 1; ; n++ {
		s, err := in.ReadString('\n')
		if s == "" && err != nil {
			enter()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return texts, err
		}
		entry, isEntry := strings.CutPrefix(s, "@")
		switch {
		case strings.HasPrefix(s, "#"):
		case isEntry:
			enter()
			var word string
			word, line = cutWord(strings.TrimSuffix(entry, "\n"))
			if key, err = a.helpTarget(word); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			open = true
		default:
			help.WriteString(s)
		}
	}
}

// cutWord cuts the first word and the blanks around it from s.
func cutWord(s string) (word, rest string) {
	const blanks = " \t"
	s = strings.TrimLeft(s, blanks)
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], strings.TrimLeft(s[i:], blanks)
	}
	return s, ""
}

// helpTarget is what an entry describes. In an instance domain the agent's symbol
// may stand for its domain, which an installation replaces.
func (a *Agent) helpTarget(s string) (pdu.TextTarget, error) {
	if id, err := a.Namespace().Lookup(s); err == nil {
		return pdu.TextOfMetric(id), nil
	}
	if id, err := pdu.ParsePMID(s); err == nil {
		return pdu.TextOfMetric(id), nil
	}
	if serial, ok := strings.CutPrefix(s, a.symbol()+"."); ok {
		s = fmt.Sprintf("%d.%s", a.Domain, serial)
	}
	if d, err := pdu.ParseInDom(s); err == nil {
		return pdu.TextOfInDom(d), nil
	}
	return pdu.TextTarget{}, fmt.Errorf("%q is no metric, PMID or instance domain", s)
}

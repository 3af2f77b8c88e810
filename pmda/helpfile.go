package pmda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// UseHelp reads help texts from files of fsys, such as an embed.FS or os.DirFS. It reads the
// compiled pair name.dir and name.pag if there is one, or else the file name, the source that
// newhelp(1) compiles. See the package documentation for the source.
//
//	//go:embed help
//	var files embed.FS
//
//	a.UseHelp(files, "help")
//
// An entry of the files replaces both texts of its metric or instance domain. The others keep the
// texts of Metric and InDom. A source may have entries for metrics that are registered later. In a
// source SYMBOL.1 is the instance domain 1 of the agent, where SYMBOL is the agent's name in
// capital letters, without a leading PMDA, as in the file help of --install.
//
// Entries for unknown names are logged and ignored. So are entries for names at and below dynamic
// roots: their texts come from their Metric, or from a wrapper. A compiled pair contains domain
// numbers, so the agent must have the Domain that the pair was compiled for.
//
// UseHelp fails if there is no such file or the pair is malformed. Err then has the same error.
// UseHelp is the counterpart of the last argument of pmdaDaemon(3).
func (a *Agent) UseHelp(fsys fs.FS, name string) error {
	h, err := a.readHelp(fsys, name)
	if err != nil {
		err = &OpError{Op: "read help texts", Agent: a.Name, Name: name, Err: err}
		a.fail(err)
		return err
	}
	a.Use(h.wrap)
	return nil
}

// A helpFile is a Handler that replies with the texts of a file, or else with those of the Handler
// that it wraps.
type helpFile struct {
	Handler
	agent    *Agent
	name     string
	source   []byte // nil if the file is compiled
	resolved atomic.Pointer[resolvedHelp]
	log      logOnce
}

// resolvedHelp are the texts of a helpFile under a name space.
type resolvedHelp struct {
	names  *pmns.Tree // nil if the texts are compiled
	domain pdu.Domain
	texts  map[pdu.TextTarget]helptext.Entry
}

// readHelp reads the files.
func (a *Agent) readHelp(fsys fs.FS, name string) (*helpFile, error) {
	h := &helpFile{agent: a, name: name}
	entries, err := helptext.Read(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		h.source, err = helptext.ReadSource(fsys, name)
		return h, err
	}
	h.resolved.Store(&resolvedHelp{texts: helptext.Index(entries)})
	return h, err
}

func (h *helpFile) wrap(next Handler) Handler {
	h.Handler = next
	return h
}

// Unwrap returns the Handler whose texts are replaced.
func (h *helpFile) Unwrap() Handler { return h.Handler }

// Text returns a text of the file, or else that of the Handler.
func (h *helpFile) Text(ctx context.Context, r *Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	e, ok := h.texts()[of]
	switch {
	case !ok:
		return h.Handler.Text(ctx, r, of, kind)
	case kind&pdu.TextOneLine != 0:
		return e.OneLine, nil
	}
	return e.Help, nil
}

// texts returns the texts under the present name space.
func (h *helpFile) texts() map[pdu.TextTarget]helptext.Entry {
	r := h.resolved.Load()
	if h.source == nil {
		return r.texts
	}
	names, domain := h.agent.Namespace(), h.agent.Domain
	if r != nil && r.names == names && r.domain == domain {
		return r.texts
	}
	var wrong []error
	p := helptext.Parser{
		Resolve: func(key string) (pdu.TextTarget, error) { return h.agent.helpTarget(names, key) },
		Report: func(p *helptext.Problem) {
			if p.Kind != helptext.NoOneLine && p.Kind != helptext.NoHelp {
				wrong = append(wrong, p)
			}
		},
	}
	_ = p.Parse(h.name, bytes.NewReader(h.source)) // reading memory does not fail
	h.agent.refreshed(context.Background(), &h.log, errors.Join(wrong...), "help texts left out", slog.String("file", h.name))
	r = &resolvedHelp{names, domain, helptext.Index(p.Entries)}
	h.resolved.Store(r)
	return r.texts
}

// helpTarget returns the target of an entry. In the identifier of an instance domain, the agent's
// symbol may stand for the domain number, because an installation may change that number.
func (a *Agent) helpTarget(names *pmns.Tree, key string) (pdu.TextTarget, error) {
	id, err := names.Lookup(key)
	if err == nil {
		if _, ok := id.IsDynamicRoot(); ok {
			return pdu.TextTarget{}, errors.New("a name at or below a dynamic root has its text from its Metric, or a wrapper")
		}
		return pdu.TextOfMetric(id), nil
	}
	if serial, ok := strings.CutPrefix(key, a.symbol()+"."); ok {
		if d, err := pdu.ParseInDom(fmt.Sprintf("%d.%s", a.Domain, serial)); err == nil {
			return pdu.TextOfInDom(d), nil
		}
	}
	return pdu.TextTarget{}, pdu.FromError(err)
}

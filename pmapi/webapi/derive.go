package webapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/derived"
)

// derive defines derived metrics for the context, from the parameters name and expr, or from lines
// in the syntax of a configuration file.
func (q *query) derive() error {
	name, named := q.params.get("name")
	expr, given := q.params.get("expr")
	if !given && q.r.Method == http.MethodPost {
		b, err := q.body()
		if err != nil {
			return err
		}
		expr, given = string(b), len(b) > 0
	}
	err := q.open()
	switch {
	case err != nil:
	case !given:
		err = badRequest("invalid derive parameters")
	case named:
		err = q.define(name, expr)
	default:
		err = q.defineLines(expr)
	}
	if err != nil {
		return err
	}
	return q.succeed()
}

// lineEnds replaces each separator of definitions by a newline.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "&", "\n", ";", "\n")

// defineLines defines the metrics of lines. It stops at the first error. Earlier metrics stay
// defined.
func (q *query) defineLines(lines string) error {
	n := 0
	for line := range strings.SplitSeq(lineEnds.Replace(lines), "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, expr, isDefined := strings.Cut(line, "=")
		name, expr = strings.TrimSpace(name), strings.TrimSpace(expr)
		if name == "" || !isDefined {
			return badRequest(fmt.Sprintf("failed to parse derived metric \"%s\" on line %d - incomplete expression\n", name, n))
		}
		if err := q.define(name, expr); err != nil {
			if f, ok := errors.AsType[*failure](err); ok {
				err = badRequest(fmt.Sprintf("failed to create derived metric \"%s\" on line %d from: %s\n%s", name, n, expr, f.message))
			}
			return err
		}
	}
	return nil
}

// define defines a metric. It fails if the source has a metric of that name, which would hide it.
func (q *query) define(name, expr string) error {
	if name == "" {
		return badRequest("Error: pmAddDerivedMetric(\"\", ...): the metric has no name\n")
	}
	ids, err := q.s.c.Lookup(q.ctx, []string{name})
	if err != nil && isFatal(err) {
		return err
	}
	if len(ids) == 1 && ids[0] != pdu.NoPMID && ids[0].Domain() != derivedDomain {
		return badRequest(fmt.Sprintf("Error: pmAddDerivedMetric(\"%s\", ...): there is a metric of this name\n", name))
	}
	size := 0
	if parsed, err := derived.Parse(expr); err == nil { // Derive reports the error otherwise
		size = len(name) + parsed.Size()
	}
	if err := q.g.contexts.addDerived(q.s, size); err != nil {
		return err
	}
	err = q.s.c.Derive(q.ctx, name, expr)
	clear(q.s.plans)
	clear(q.s.pages)
	if err != nil {
		q.g.contexts.removeDerived(q.s, size)
	}
	if e, ok := errors.AsType[*pmapi.DerivedError](err); ok {
		return badRequest(derivedText(e))
	}
	return err
}

// derivedDomain is the domain of the PMIDs of derived metrics.
const derivedDomain = 511

// derivedText returns the error text of the C library for a definition.
func derivedText(e *pmapi.DerivedError) string {
	const duplicate = "Duplicate per-context derived metric name"
	call := fmt.Sprintf("pmAddDerivedMetric(\"%s\", ...)", e.Name)
	if e.Message == duplicate {
		return fmt.Sprintf("Error: %s: returns %d\n%s\n", call, int(pdu.ErrBadDerive), duplicate)
	}
	kind := "Syntax"
	if e.Part != "" {
		kind = "Semantic"
	}
	message := strings.TrimSuffix(e.Message, "\n")
	if message != "" {
		message += "\n"
	}
	offset := max(e.Offset, 0)
	if e.Expr == "" {
		offset = 1 // the C library points behind the end
	}
	return fmt.Sprintf("%s Error: %s\n%s\n%s^\n%s", kind, call, e.Expr, strings.Repeat(" ", offset), message)
}

package webapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// errStore is the reply to a store without a login.
var errStore = &failure{http.StatusUnauthorized, "a store needs a login, or a gateway that allows stores without one (pmproxy --allow-store)"}

// mayStore returns an error unless the collector accepted the login of the header Authorization, or
// the gateway allows stores without one. Pages of other sites can make a browser send any URL, but
// not this header.
func (q *query) mayStore() error {
	if !q.g.AllowStore && (q.r.Header.Get("Authorization") == "" || q.s.login.user == "") {
		return errStore
	}
	return nil
}

// store stores the value of the parameter value or of the body of a POST.
func (q *query) store() error {
	if q.fromElsewhere() {
		return &failure{http.StatusForbidden, "pages of this origin may not store"}
	}
	if !q.g.AllowStore && q.r.Header.Get("Authorization") == "" { // do not open a context for it
		return errStore
	}
	key, about, ok := q.params.first("name", "pmid")
	if !ok {
		return badRequest("bad parameters passed")
	}
	value, err := q.storedText()
	if err != nil {
		return err
	}
	if err := q.open(); err != nil {
		return err
	}
	if err := q.mayStore(); err != nil {
		return err
	}
	var d pdu.Desc
	if key == "name" {
		d, err = q.descOf(about)
	} else if d, err = q.descOfPMID(about); err == nil {
		about = d.PMID.String()
	}
	if err != nil {
		return err
	}
	if err := q.storeValue(d, value); err != nil {
		if f, ok := errors.AsType[*failure](err); ok || isFatal(err) {
			if ok {
				return f
			}
			return err
		}
		return badRequest("failed to store value to metric " + about + ": " + storeText(err))
	}
	return q.succeed()
}

// storedText returns the text of the value.
func (q *query) storedText() (string, error) {
	value, ok := q.params.get("value")
	if ok {
		return value, nil
	}
	if q.r.Method != http.MethodPost {
		return "", badRequest("required parameter is missing: value")
	}
	b, err := q.body()
	if err == nil && len(b) == 0 {
		err = badRequest("required parameter is missing: value")
	}
	return string(b), err
}

// descOfPMID returns the descriptor of a PMID.
func (q *query) descOfPMID(s string) (pdu.Desc, error) {
	id, err := parsePMID(s)
	if err != nil {
		return pdu.Desc{}, badRequest(s + " - failed to lookup PMID")
	}
	d, err := q.s.c.Desc(q.ctx, id)
	if err != nil && !isFatal(err) {
		err = badRequest(s + " - failed to lookup PMID")
	}
	return d, err
}

// storeValue stores a value into the instances that the request selects.
func (q *query) storeValue(d pdu.Desc, value string) error {
	a, err := parseValue(value, d.Type)
	if err != nil {
		return err
	}
	w := pdu.ResultWriter{Limit: pmapi.MaxStore}
	w.Begin(d.PMID)
	switch {
	case !q.selects():
		w.Atom(pdu.NoInst, a)
	case d.InDom == pdu.NoInDom:
		return pdu.ErrInDom
	default:
		insts, err := q.selected(d.InDom)
		if err != nil {
			return err
		}
		if len(insts) == 0 {
			return pdu.ErrInst
		}
		for _, i := range insts {
			w.Atom(i.ID, a)
		}
	}
	r, err := w.Result()
	if err != nil {
		return err
	}
	return q.s.c.StoreResult(q.ctx, r)
}

// parseValue parses a value of a type. It refuses "-" before an unsigned number.
func parseValue(value string, t pdu.Type) (pdu.Atom, error) {
	a, err := pdu.ParseAtom(value, t)
	if err == nil && (t == pdu.TypeU32 || t == pdu.TypeU64) && strings.HasPrefix(strings.TrimLeft(value, " \t\n\v\f\r"), "-") {
		err = pdu.ErrTrunc
	}
	return a, err
}

// storeText returns the text of a store's error.
func storeText(err error) string {
	switch pdu.FromError(err) {
	case pdu.ErrConv:
		return pdu.ErrType.Error()
	case pdu.ErrTrunc:
		return errRange.Error()
	}
	return text(err)
}

// errRange is ERANGE.
const errRange pdu.Error = -34

package pmapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// maxNamesLen limits the length of one request for PMIDs, in bytes.
const maxNamesLen = 63 << 10

func (h *host) Lookup(ctx context.Context, names []string) ([]pdu.PMID, source.Errors, error) {
	l, err := h.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, codes, err := l.lookup(names)
	if err == nil {
		err = l.lookupUnknown(names, ids, codes)
	}
	if err == nil {
		h.known.addNames(names, ids)
	}
	return ids, errorsOf(codes), h.end(ctx, l, err)
}

// errorsOf returns codes as errors.
func errorsOf(codes []pdu.Error) (errs source.Errors) {
	for i, code := range codes {
		if code != 0 {
			errs.Set(i, len(codes), code)
		}
	}
	return errs
}

// lookup requests the PMIDs of names, in as many requests as they need. A code is the
// reason for a missing PMID, or 0 if the reason is not known.
func (l *link) lookup(names []string) ([]pdu.PMID, []pdu.Error, error) {
	var ends []int // of the names of each request
	for at := 0; at < len(names); {
		end, size := at, 0
		for end < len(names) && (end == at || size+len(names[end])+8 <= maxNamesLen) {
			size += len(names[end]) + 8
			end++
		}
		ends, at = append(ends, end), end
	}
	return l.lookupParts(names, ends)
}

// lookupParts requests the PMIDs of names, in requests that end before the indexes
// ends.
func (l *link) lookupParts(names []string, ends []int) ([]pdu.PMID, []pdu.Error, error) {
	ids, codes := make([]pdu.PMID, len(names)), make([]pdu.Error, len(names))
	at := 0
	for _, end := range ends {
		if err := l.queue(pdu.NameList{Names: names[at:end]}); err != nil {
			return nil, nil, err
		}
		at = end
	}
	at = 0
	err := l.readReplies(len(ends), pdu.KindPMNSIDs, func(i int, body []byte, err error) error {
		from := at
		at = ends[i]
		return decodeIDs(body, err, ids[from:at], codes[from:at])
	})
	return ids, codes, err
}

// decodeIDs decodes the reply to one request for PMIDs: a code is about all of them.
func decodeIDs(body []byte, err error, ids []pdu.PMID, codes []pdu.Error) error {
	var p pdu.PMIDList
	code, isCode := err.(pdu.Error)
	switch {
	case isCode:
		for i := range ids {
			ids[i], codes[i] = pdu.NoPMID, code
		}
		return nil
	case err == nil && len(body) != 8+4*len(ids): // before more PMIDs than requested take memory
		err = fmt.Errorf("%d bytes in place of the PMIDs of %d names: %w", len(body), len(ids), pdu.ErrIPC)
	case err == nil:
		err = p.Decode(body)
	}
	copy(ids, p.PMIDs)
	return err
}

// lookupUnknown requests each name that has neither a PMID nor a code again, alone, to get the
// code: a reply about several names has no codes.
func (l *link) lookupUnknown(names []string, ids []pdu.PMID, codes []pdu.Error) error {
	var unknown []string
	var at, ends []int
	for i, id := range ids {
		switch {
		case id != pdu.NoPMID || codes[i] != 0:
		case len(names) == 1:
			codes[i] = pdu.ErrName
		default:
			unknown = append(unknown, names[i])
			at, ends = append(at, i), append(ends, len(unknown))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	l.wait()
	again, why, err := l.lookupParts(unknown, ends)
	if err != nil {
		return err
	}
	for n, i := range at {
		if ids[i], codes[i] = again[n], why[n]; ids[i] == pdu.NoPMID && codes[i] == 0 {
			codes[i] = pdu.ErrName
		}
	}
	return nil
}

func (h *host) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	var p nameList
	err := h.roundTrip(ctx, pdu.PMIDList{PMIDs: []pdu.PMID{id}}, pdu.KindPMNSNames, &p)
	if err == nil && len(p.Names) == 0 {
		err = pdu.ErrPMID
	}
	if err != nil {
		return nil, err
	}
	h.known.addNames(p.Names, slices.Repeat([]pdu.PMID{id}, len(p.Names)))
	return p.Names, nil
}

// A nameList is a reply that has names, or a code instead.
type nameList struct{ pdu.NameList }

func (p *nameList) Decode(body []byte) error { return p.decode(body, p.NameList.Decode) }

func (p *nameList) DecodeInPlace(body []byte) error { return p.decode(body, p.NameList.DecodeInPlace) }

func (p *nameList) decode(body []byte, decode func([]byte) error) error {
	if err := checkCount(body, 8, "names", maxNames); err != nil {
		return err
	}
	if err := decode(body); err != nil {
		return err
	}
	if p.Err < 0 {
		return p.Err
	}
	return nil
}

func (h *host) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	var p nameList
	err := h.roundTrip(ctx, pdu.ChildReq{Name: name, Status: true}, pdu.KindPMNSNames, &p)
	if err == nil && len(p.Statuses) != len(p.Names) {
		err = fmt.Errorf("children without a status: %w", pdu.ErrIPC)
	}
	if err != nil {
		return nil, err
	}
	var children []pmns.Child
	for i, n := range p.Names {
		children = append(children, pmns.Child{Name: n, Leaf: p.Statuses[i] == pdu.Leaf})
	}
	return children, nil
}

func (h *host) Traverse(ctx context.Context, name string) ([]string, error) {
	var p nameList
	err := h.roundTrip(ctx, pdu.TraverseReq{Name: name}, pdu.KindPMNSNames, &p)
	if err != nil {
		return nil, err
	}
	return p.Names, nil
}

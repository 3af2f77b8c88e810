package pmapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

func (h *host) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	l, err := h.begin(ctx)
	if err != nil {
		return err
	}
	if gap := h.known.unreportedGap(); gap != nil {
		h.mu.Lock()
		h.epoch.Gap = gap
		h.mu.Unlock()
		return h.end(ctx, l, gap)
	}
	err = l.fetchValues(ids, profile, r)
	if err == nil && r.Changed != 0 {
		h.noteChanges(r.Changed)
	}
	return h.end(ctx, l, err)
}

// noteChanges begins a new epoch if names or labels have changed in the collector.
func (h *host) noteChanges(changed pdu.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if changed.AffectsNames() {
		h.epoch.Names++
	}
	if changed.AffectsNames() || changed&pdu.ChangeLabels != 0 {
		h.epoch.Labels++
	}
}

// maxFetch is how many metrics fit into the 65536 bytes of pmcd's longest request. It closes the
// connection after a longer one.
const maxFetch = 16377

// fetchValues sends the profile and the request for values in one write.
func (l *link) fetchValues(ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if len(ids) > maxFetch {
		return l.fetchParts(ids, profile, r)
	}
	if err := l.queueProfile(profile); err != nil {
		return err
	}
	l.fetch = pdu.Fetch{HighRes: l.features&pdu.FeatureHighRes != 0, PMIDs: ids}
	r.Format = pdu.FormatLowRes
	if l.fetch.HighRes {
		r.Format = pdu.FormatHighRes
	}
	body, err := l.roundTrip(&l.fetch, r.Kind())
	l.fetch.PMIDs = nil // the caller's
	if err != nil {
		return err
	}
	if err := l.decode(r, body); err != nil {
		return err
	}
	if err := checkPMIDs(r, ids); err != nil {
		return err
	}
	r.Changed, l.changes = l.changes, 0
	return nil
}

// fetchParts fetches values in several requests.
func (l *link) fetchParts(ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	var w pdu.ResultWriter
	var part pdu.Result
	for some := range slices.Chunk(ids, maxFetch) {
		if err := l.fetchValues(some, profile, &part); err != nil {
			return err
		}
		l.changes = part.Changed // not reported yet: another part may fail
		if w.Time.IsZero() {
			w.Time = part.Time
		}
		for _, s := range part.All() {
			w.Copy(s)
		}
		l.wait()
	}
	whole, err := w.Result()
	if err != nil {
		return err
	}
	whole.Format = part.Format
	whole.Changed, l.changes = l.changes, 0
	*r = *whole
	return nil
}

// checkPMIDs returns an error unless the sets are those of ids, in order. The C pmcd
// counts the sets of agents, but does not check their PMIDs.
func checkPMIDs(r *pdu.Result, ids []pdu.PMID) error {
	if r.Len() != len(ids) {
		return lostError{cause: fmt.Errorf("values of %d metrics in place of %d", r.Len(), len(ids))}
	}
	for i, id := range ids {
		if is := r.At(i).PMID; is != id {
			return fmt.Errorf("values of %v in place of %v: %w", is, id, pdu.ErrIPC)
		}
	}
	return nil
}

func (h *host) Store(ctx context.Context, r *pdu.Result) error {
	low := *r
	low.Format = pdu.FormatLowRes // the only one that collectors accept
	return h.roundTrip(ctx, &low, pdu.KindError, nil)
}

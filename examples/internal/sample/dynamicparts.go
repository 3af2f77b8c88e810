package sample

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// dynamicParts is the state of events, dynamic names, processes and per-client counts.
type dynamicParts struct {
	low, high events
	ghosts    ghosts
	processes processes
	scramble  scramble
	file      fileInDom
	meta      meta
	clients   clients

	availability availability
}

// registerDynamicParts registers the metrics of events, dynamic names, processes and per-client
// counts.
func (s *sample) registerDynamicParts() {
	s.agent.ClientAttributes = true // nothing here depends on them, but PCP's agent wants them too
	s.registerEvents()
	s.registerSecret()
	s.registerGhosts()
	s.registerProcesses()
	s.registerScramble()
	s.registerFileInDom()
	s.registerMeta()
	s.registerClients()
	s.registerAvailability()
	s.setLabels()
}

// prepareFetch prepares the metrics of a fetch. Its error fails the whole fetch.
func (s *sample) prepareFetch(r *pmda.Request, ids []pdu.PMID) error {
	var ghosts, processes, file bool
	s.dynamic.low.counts, s.dynamic.high.counts = nil, nil
	for _, id := range ids {
		if id.Domain() != s.agent.Domain || id.Cluster() != 0 {
			continue
		}
		switch id.Item() {
		case itemEventRecords, itemEventHighRes, itemEventNoInDom, itemEventReset, itemEventResetHighRes:
			s.buildEvents(id.Item(), r)
		case itemGhostsOrigin, itemGhostsKarma, itemGhostsState:
			ghosts = true
		case itemProcOrdinal, itemProcExec, itemProcTime:
			processes = true
		case itemFileCounter, itemFileDiscrete, itemFileInstant:
			file = true
		case itemMeta:
			if err := s.dynamic.meta.err(); err != nil {
				return err
			}
		}
	}
	if ghosts {
		s.dynamic.ghosts.step++
	}
	if processes {
		s.dynamic.processes.step()
	}
	if file {
		s.dynamic.file.count()
	}
	return nil
}

// hasDynamicValues reports whether a metric of the tables has values or an error that the tables do
// not have.
func (s *sample) hasDynamicValues(id pdu.PMID) bool {
	switch id {
	case s.id(itemMeta), s.id(itemScrambleBin):
		return true
	case s.id(itemGhostsOrigin), s.id(itemGhostsKarma), s.id(itemGhostsState):
		return s.dynamic.ghosts.visible < 0
	}
	return false
}

// fetchDynamic writes the values of such a metric.
func (h handler) fetchDynamic(ctx context.Context, r *pmda.Request, id pdu.PMID, w *pdu.ResultWriter) {
	switch {
	case id == h.s.id(itemMeta):
		h.s.dynamic.meta.write(ctx, h.Handler, r, w)
	case id == h.s.id(itemScrambleBin):
		h.s.writeScramble(r, w)
	case h.s.hasDynamicValues(id):
		w.Fail(pdu.ErrPMID)
	}
}

// descDynamic returns the descriptor of a metric if it is not that of its registration, otherwise
// false.
func (s *sample) descDynamic(id pdu.PMID) (pdu.Desc, error, bool) {
	switch id {
	case s.id(itemMeta):
		return s.dynamic.meta.desc(id), nil, true
	case s.id(itemGhostsOrigin), s.id(itemGhostsKarma), s.id(itemGhostsState):
		return pdu.Desc{}, pdu.ErrPMID, s.dynamic.ghosts.visible < 0
	}
	return pdu.Desc{}, nil, false
}

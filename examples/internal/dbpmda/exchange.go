package dbpmda

import (
	"errors"
	"io"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A request is a kind of request to an agent: the C functions in its error messages, the method of
// an embedded agent, and the type of the reply.
type request struct {
	send, method, decode string
	reply                pdu.Kind
	numeric              bool // a PDU that is no reply is reported by its number
}

var (
	descRequest     = request{"__pmSendDescReq", "desc", "__pmDecodeDesc", pdu.KindDesc, true}
	fetchRequest    = request{"__pmSendFetch", "fetch", "__pmDecodeResult", pdu.KindResult, true}
	storedRequest   = request{"__pmSendFetch", "fetch", "__pmDecodeResult", pdu.KindResult, false}
	storeRequest    = request{"__pmSendResult", "store", "__pmDecodeError", pdu.KindError, false}
	instanceRequest = request{"__pmSendInstanceReq", "instance", "__pmDecodeInstance", pdu.KindInstance, false}
	textRequest     = request{"__pmSendTextReq", "text", "__pmDecodeText", pdu.KindText, false}
	labelRequest    = request{"__pmSendLabelReq", "label", "__pmDecodeLabel", pdu.KindLabel, false}
	nameRequest     = request{"__pmSendIDList", "name", "__pmDecodeNameList", pdu.KindPMNSNames, false}
	pmidRequest     = request{"__pmSendIDList", "pmid", "__pmDecodeIDList", pdu.KindPMNSIDs, false}
	childRequest    = request{"__pmSendChildReq", "children", "__pmDecodeNameList", pdu.KindPMNSNames, false}
	traverseRequest = request{"__pmSendTraversePMNS", "children", "__pmDecodeNameList", pdu.KindPMNSNames, false}
)

// A decoder is a PDU that can be decoded.
type decoder interface{ Decode(body []byte) error }

// An outcome is the result of a request.
type outcome int

const (
	failed   outcome = iota // it has been reported
	noAnswer                // reported too, but PCP's tool goes on as if all was well
	answered
)

// ask makes a request of the agent and decodes the reply. It reports failures.
func (d *debugger) ask(r request, p pdu.PDU, reply decoder) outcome {
	a := d.agent
	d.out.FlushLines()
	h, body, err := pdu.Header{}, []byte(nil), a.broken
	if err == nil {
		if err := a.conn.Write(0, p); err != nil {
			d.printf("Error: %s() failed: %v\n", r.send, pdu.FromError(err))
			return failed
		}
		h, body, err = a.read()
	}
	switch {
	case err == io.EOF:
		d.printf("Error: __pmGetPDU() failed: PDU empty, PMDA may have died\n")
		return noAnswer
	case err != nil && r.numeric && !errors.Is(err, pdu.ErrTooBig):
		d.printf("Error: __pmGetPDU() failed: wrong PDU (%x)\n", uint32(pdu.FromError(err)))
		return failed
	case err != nil:
		d.printf("Error: __pmGetPDU() failed: %v\n", pdu.FromError(err))
		return failed
	case h.Kind == pdu.KindError:
		return d.replyStatus(r, body)
	case h.Kind != r.reply && r.numeric:
		d.printf("Error: __pmGetPDU() failed: wrong PDU (%x)\n", uint32(h.Kind))
		return noAnswer
	case h.Kind != r.reply:
		d.printf("Error: __pmGetPDU() failed: %v\n", pdu.Error(h.Kind))
		return noAnswer
	}
	if err := reply.Decode(body); err != nil {
		d.printf("Error: %s() failed: %v\n", r.decode, pdu.FromError(err))
		return failed
	}
	return answered
}

// read reads a PDU. After an error other than the end of the stream no further PDU can be read.
func (a *agent) read() (pdu.Header, []byte, error) {
	h, body, err := a.conn.Read()
	if err != nil && err != io.EOF {
		a.broken = err
	}
	return h, body, err
}

// askQuietly is ask without messages.
func (d *debugger) askQuietly(p pdu.PDU, want pdu.Kind, reply decoder) (ok bool) {
	a := d.agent
	if a.broken != nil || a.conn.Write(0, p) != nil {
		return false
	}
	h, body, err := a.read()
	return err == nil && h.Kind == want && reply.Decode(body) == nil
}

// replyStatus returns the outcome of a request whose reply is a status: the success of a store, or
// an error.
func (d *debugger) replyStatus(r request, body []byte) outcome {
	var s pdu.Status
	err := s.Decode(body)
	switch {
	case err != nil:
		d.printf("Error: __pmDecodeError() failed: %v\n", pdu.FromError(err))
		return failed
	case s.Code == 0 && r.reply == pdu.KindError:
		return answered
	case d.agent.dso:
		d.printf("Error: DSO %s() failed: %v\n", r.method, s.Code)
	default:
		d.printf("Error PDU: %v\n", s.Code)
	}
	if s.Code >= 0 {
		return noAnswer
	}
	return failed
}

// sendProfile sends the selection to the agent if it has changed.
func (d *debugger) sendProfile() outcome {
	if !d.selected || d.agent.broken != nil {
		return answered
	}
	d.out.FlushLines()
	o := d.writeProfile()
	if o == answered {
		d.selected, d.agent.selects = false, true
	}
	return o
}

func (d *debugger) writeProfile() outcome {
	if err := d.agent.conn.Write(0, pdu.SetProfile{Profile: d.selection.profile()}); err != nil {
		d.printf("Error: __pmSendProfile() failed: %v\n", pdu.FromError(err))
		return failed
	}
	return answered
}

// timed calls do and, with the timer on, prints the duration of a successful call.
func (d *debugger) timed(do func() outcome) {
	began := time.Now()
	if do() == answered && d.timer {
		d.printf("Timer: %f seconds\n", time.Since(began).Seconds())
	}
}

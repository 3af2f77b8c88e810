package sample

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// debugAttributes are the bits of control that make the agent log the attributes of its clients.
// They are those of PCP's debug options auth and attr.
const debugAttributes = 1<<24 | 1<<26

// SetClient logs new attributes of a client if control has those bits.
func (h handler) SetClient(c *pmda.Client) {
	known := h.s.known[c.ID]
	if known == nil || known.Seq != c.Seq {
		known = pmda.NewClient(c.ID, c.Seq)
	}
	h.s.known[c.ID] = c
	if h.s.process.control&debugAttributes != 0 {
		log := func(key pdu.Attribute, value, old any) {
			if value != old {
				h.s.agent.Log().Info(fmt.Sprintf("Attribute: ctx=%d %v=%v", c.ID, key, value))
			}
		}
		log(pdu.AttrProcessID, c.PID, known.PID)
		log(pdu.AttrGroupID, c.GID, known.GID)
		log(pdu.AttrUserID, c.UID, known.UID)
		log(pdu.AttrUsername, c.User, known.User)
		log(pdu.AttrContainer, c.Container, known.Container)
	}
	h.Handler.SetClient(c)
}

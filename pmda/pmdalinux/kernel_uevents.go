package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addKernelEvents adds the metric of /sys/kernel/uevent_seqnum.
func (l *linux) addKernelEvents() {
	var last uint64
	var known bool
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "sysfs.kernel.uevent_seqnum", ID: pmda.Item(35, 0), Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text: "Events of devices, such as their coming and going, that the kernel has told programs of",
		Group: l.optionalFileGroup("sys/kernel/uevent_seqnum", func(text []byte) error {
			known = procfile.ParseNumber(text, &last)
			return nil
		}),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			if !known {
				return 0, pmda.NoValue
			}
			return last, nil
		},
	})
}

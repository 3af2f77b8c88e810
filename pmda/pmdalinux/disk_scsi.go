package pmdalinux

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// scsi are the block devices of /proc/scsi/scsi.
type scsi struct {
	l      *linux
	rows   instances[string] // the kernel's names of the block devices
	blocks map[string]string // those names, by address
	next   time.Time         // when to look them up again
	name   []byte            // of the entry that is being parsed
}

// addSCSI adds the metrics of SCSI devices.
func (l *linux) addSCSI() {
	s := &scsi{l: l}
	s.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(11), Name: "SCSI device",
		Text:   "SCSI devices that are block devices, as host, channel, ID and unit, with what they are",
		Labels: pmda.LabelJSON(map[string]any{"device_type": "block", "indom_name": "per disk"}),
		Group:  l.optionalFileGroup("proc/scsi/scsi", s.parse)}
	l.Attach(s.rows.indom)
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: "hinv.map.scsi", ID: pmda.Item(15, 0), InDom: s.rows.indom, Sem: pdu.SemDiscrete,
		Text:   "The name that the kernel gives each SCSI device as a block device",
		Values: rowValues(&s.rows, func(block *string) (string, bool) { return *block, true }),
	})
}

// parse reads entries such as
//
//	Host: scsi0 Channel: 00 Id: 00 Lun: 00
//	  Vendor: ATA      Model: ST3500630AS      Rev: 3.AA
//	  Type:   Direct-Access                    ANSI  SCSI revision: 05
func (s *scsi) parse(text []byte) error {
	if now := time.Now(); now.After(s.next) {
		s.next = now.Add(recheckAfter)
		s.blocks = map[string]string{}
	}
	s.rows.Begin()
	s.name = s.name[:0]
	for line := range procfile.Lines(text) {
		if word, rest := procfile.CutField(line); string(word) == "Host:" {
			s.parseAddress(rest)
		} else if kind, _ := procfile.CutField(rest); string(word) == "Type:" && len(s.name) > 0 && validName(kind) {
			s.endEntry(kind)
		}
	}
	return s.rows.End()
}

// parseAddress parses the first line of an entry into the name, as scsi0:0:0:0.
func (s *scsi) parseAddress(line []byte) {
	s.name = append(s.name[:0], "scsi"...)
	for i, label := range [...]string{"", "Channel:", "Id:", "Lun:"} {
		if i > 0 {
			word, rest := procfile.CutField(line)
			if string(word) != label {
				s.name = s.name[:0]
				return
			}
			s.name, line = append(s.name, ':'), rest
		}
		field, rest := procfile.CutField(line)
		n, ok := procfile.ParseUint(bytes.TrimPrefix(field, []byte("scsi")))
		if !ok {
			s.name = s.name[:0]
			return
		}
		s.name, line = strconv.AppendUint(s.name, n, 10), rest
	}
}

// endEntry ends an entry. Only block devices have a row.
func (s *scsi) endEntry(kind []byte) {
	address := s.name[len("scsi"):]
	block, ok := s.blocks[string(address)]
	if !ok {
		dir := s.l.path("sys/class/scsi_device/" + string(address) + "/device/block")
		if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
			block = list[0].Name()
		}
		s.blocks[string(address)] = block
	}
	if block != "" {
		s.name = append(append(s.name, ' '), kind...)
		*s.rows.Row(s.name) = block
	}
	s.name = s.name[:0]
}

// addEntryCount adds a metric that counts the entries of a directory. It counts again after
// recheckAfter.
func (l *linux) addEntryCount(name string, cluster int, text, dir string, counts func(fs.DirEntry) bool) {
	var n uint32
	var next time.Time
	dir = filepath.FromSlash(dir)
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: name, ID: pmda.Item(cluster, 16), Sem: pdu.SemDiscrete, Text: text,
		Value: valueOf(&n),
		Group: l.Group(func(context.Context, *pmda.Request) error {
			now := time.Now()
			if now.Before(next) {
				return nil
			}
			list, err := os.ReadDir(l.path(dir))
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // missing without a driver
				return err
			}
			n, next = 0, now.Add(recheckAfter)
			for _, e := range list {
				if counts(e) {
					n++
				}
			}
			return nil
		}),
	})
}

package pmdalinux

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// The exit codes of mdadm --detail --test, according to its manual.
const (
	arrayWorks    = 0
	arrayDegraded = 1 // a disk is missing, or not yet rebuilt
	arrayFailed   = 2 // so many disks are missing that it does not work
	arrayUnknown  = 4 // it is not running
)

// arrayFiles are the files that tell the status of arrays.
type arrayFiles struct {
	d                       *disks
	state, level, metadata  *deviceFiles[string]
	degraded, disks, layout *deviceFiles[uint64]
	slots                   []*deviceFiles[string] // the state of the disk in each place
}

// addArrayStatus adds the metric of whether arrays work. The C agent runs mdadm for each array in
// each fetch and exports the result of wait(2), which is 256 times the exit code. This agent
// derives the exit code from the files in /sys.
func (d *disks) addArrayStatus() {
	a := &arrayFiles{d: d,
		state: d.arrayFile(parseName, "array_state"), level: d.arrayFile(parseName, "level"), metadata: d.arrayFile(parseName, "metadata_version"),
	}
	a.degraded, a.disks, a.layout = d.arrayNumber("degraded"), d.arrayNumber("raid_disks"), d.arrayNumber("layout")
	r := &d.class[array]
	pmda.Register(d.l.Agent, pmda.Metric[int32]{
		Name: "disk.md.status", ID: pmda.Item(60, 0), InDom: r.indom,
		Text: "0 for an array that works, other numbers for one that lacks disks or does not work",
		Help: "It is 256 times the code that the command mdadm --detail --test exits with: 256 for an array that\n" +
			"works without all of its disks, 512 for one that cannot, 1024 for one that is not running. It is\n" +
			"found out without that command.",
		Values: rowValues(r, func(k *disk) (int32, bool) {
			code, ok := a.status(k.kernel)
			return 256 * code, ok
		}),
	})
}

// arrayFile returns a file of each array.
func (d *disks) arrayFile(parse func([]byte, *string) bool, name string) *deviceFiles[string] {
	return deviceFilesOf(d.l, &d.arrays, parse, blockDir, "md/"+name)
}

// arrayNumber returns a file with a number such as "4" or, while it changes, "4 (3)".
func (d *disks) arrayNumber(name string) *deviceFiles[uint64] {
	return deviceFilesOf(d.l, &d.arrays, func(text []byte, v *uint64) (ok bool) {
		line, one := procfile.OnlyLine(text)
		*v, line, ok = procfile.CutUint(line)
		before, _ := procfile.CutField(line)
		return ok && one && (len(before) == 0 || before[0] == '(')
	}, blockDir, "md/"+name)
}

// status returns mdadm's exit code for an array. It is not ok if the status is unknown.
func (a *arrayFiles) status(kernel string) (code int32, ok bool) {
	switch state := a.state.get(kernel); {
	case !state.ok:
		return 0, false
	case state.v == "clear":
		return arrayUnknown, true
	case state.v == "broken":
		return arrayFailed, true
	case state.v == "inactive":
		return arrayFailed, !a.container(kernel)
	}
	degraded := a.degraded.get(kernel)
	if degraded.absent { // none of its disks may be missing
		return arrayWorks, true
	}
	if !degraded.ok || degraded.v == 0 {
		return arrayWorks, degraded.ok
	}
	enough, ok := a.enough(kernel, degraded.v)
	if !enough {
		return arrayFailed, ok
	}
	return arrayDegraded, ok
}

// container reports whether an array only holds the disks that other arrays are made
// of, in a format of the BIOS, and never runs.
func (a *arrayFiles) container(kernel string) bool {
	m := a.metadata.get(kernel)
	rest, external := strings.CutPrefix(m.v, "external:")
	return m.ok && external && !strings.HasPrefix(rest, "/")
}

// enough reports whether an array works without the missing disks. It is not ok if that is unknown.
func (a *arrayFiles) enough(kernel string, missing uint64) (enough, ok bool) {
	level, disks := a.level.get(kernel), a.disks.get(kernel)
	if !level.ok || !disks.ok {
		return false, false
	}
	switch level.v {
	case "raid1":
		return missing < disks.v, true
	case "raid4", "raid5":
		return missing <= 1, true
	case "raid6":
		return missing <= 2, true
	case "raid10":
		return a.enoughCopies(kernel, missing, disks.v)
	}
	return false, false
}

// maxArrayDisks is above the maximum number of disks of a raid10 array.
const maxArrayDisks = 4096

// enoughCopies reports whether a raid10 array still has a copy of each block. The copies of a block
// are on consecutive disks, and the number of the first is a multiple of the number of near copies.
func (a *arrayFiles) enoughCopies(kernel string, missing, disks uint64) (enough, ok bool) {
	layout := a.layout.get(kernel)
	near, far := layout.v&0xff, layout.v>>8&0xff
	copies := near * far
	if !layout.ok || copies == 0 || copies > disks || disks > maxArrayDisks {
		return false, false
	}
	if missing < copies {
		return true, true
	}
	for first := uint64(0); ; {
		left := false
		for i := range copies {
			works, ok := a.works(kernel, int((first+i)%disks))
			if !ok {
				return false, false
			}
			left = left || works
		}
		if !left {
			return false, true
		}
		if first = (first + near) % disks; first == 0 {
			return true, true
		}
	}
}

// works reports whether the disk in a slot of an array is present and up to date.
func (a *arrayFiles) works(kernel string, slot int) (works, ok bool) {
	for len(a.slots) <= slot {
		a.slots = append(a.slots, a.d.arrayFile(parseInSync, "rd"+strconv.Itoa(len(a.slots))+"/state"))
	}
	f := a.slots[slot].get(kernel)
	return f.ok && f.v != "", f.ok || f.absent
}

// parseInSync parses a list such as in_sync,write_mostly. The value is in_sync if the list has it,
// else empty.
func parseInSync(text []byte, v *string) bool {
	const inSync = "in_sync"
	line, ok := procfile.OnlyLine(text)
	*v = ""
	for len(line) > 0 {
		var word []byte
		if word, line, _ = bytes.Cut(line, []byte(",")); string(word) == inSync {
			*v = inSync
		}
	}
	return ok
}

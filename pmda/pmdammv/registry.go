package pmdammv

import (
	"cmp"
	"log/slog"
	"slices"

	"github.com/pcp-go/pcp/mmv"
)

// A registrySource is the image of a Registry of this program when the agent last read it.
type registrySource struct {
	mmv.Source
	of *mmv.Registry
}

// replaced reports whether the Registry has moved its values to a larger image.
func (s registrySource) replaced() bool { return s.of.Source() != s.Source }

func (registrySource) close() {}

// scanRegistries reads the Registries that have changed, all of them if force is true.
func (a *agent) scanRegistries(force bool, log *slog.Logger) []*entry {
	old := a.regs
	a.regs = make([]*entry, len(a.registries))
	for i, r := range a.registries {
		if old != nil && !force && !old[i].changed() {
			a.regs[i] = old[i]
			continue
		}
		e := readRegistry(r)
		for n := 0; e.inFlux() && n < fluxTries; n++ {
			e = readRegistry(r)
		}
		e.log(log, "Registry "+r.Name)
		a.regs[i] = e
	}
	return slices.Clone(a.regs)
}

func readRegistry(r *mmv.Registry) *entry {
	e := &entry{name: r.Name, src: registrySource{r.Source(), r}}
	e.read()
	return e
}

// mergeEntries returns the entries of Registries and of files, sorted by name. A Registry precedes
// a file of its name, which is likely to be its own. mergeEntries may change regs.
func mergeEntries(regs, files []*entry) []*entry {
	all := append(regs, files...)
	slices.SortStableFunc(all, func(a, b *entry) int { return cmp.Compare(a.name, b.name) })
	return all
}

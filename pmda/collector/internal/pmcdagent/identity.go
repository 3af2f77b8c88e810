package pmcdagent

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/strftime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// pcpVersion is the version of PCP whose protocol, metrics and texts the collector has. Tools show
// it and compare it with their own.
const pcpVersion = build.PCP

// identity registers a text that describes the collector.
func (p *pmcd) identity(name string, item int, sem pdu.Sem, text, help string, value func() string) {
	register(p, pmda.Metric[string]{
		Name: name, ID: pmda.Item(0, item), Sem: sem, Text: text, Help: help, Value: always(value),
	})
}

// addIdentity registers pmcd.timezone and the metrics after it.
func (p *pmcd) addIdentity() {
	p.identity("pmcd.timezone", 5, pdu.SemDiscrete, "Time zone of the collector",
		"The collector's local time zone, as $TZ has it.",
		func() string { return strftime.Zone(time.Now()) })
	p.identity("pmcd.zoneinfo", 26, pdu.SemDiscrete, "Time zone of the collector by name",
		`The collector's local time zone as a colon and its name in the time zone
database, such as ":Europe/Berlin"; empty if the name is not known.`, zoneinfo)
	p.identity("pmcd.simabi", 6, pdu.SemDiscrete, "Architecture of the collector's machine",
		"The name of the processor architecture for which the collector was built.", abi)
	p.identity("pmcd.version", 7, pdu.SemDiscrete, "Version of PCP",
		"The version of PCP whose protocol and metrics the collector has.",
		func() string { return pcpVersion })
	p.identity("pmcd.services", 16, pdu.SemInstant, "Services of PCP on this host",
		"Names of services, with blanks between; the collector's own is pmcd.",
		p.services)
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.openfds", ID: pmda.Item(0, 17),
		Text: "Highest file descriptor of the collector",
		Help: `The highest number of a file descriptor that the collector's process was seen
to have open.`,
		Value: p.openFDs,
	})
	p.identity("pmcd.build", 20, pdu.SemDiscrete, "Build of the collector",
		"The version of the Go module\n"+build.Path+" that the collector was built from.", buildVersion)
	register(p, pmda.Metric[string]{
		Name: "pmcd.hostname", ID: pmda.Item(0, 21), Sem: pdu.SemDiscrete, Text: "Name of the collector's host",
		Help: `The name that the collector was told to use, or that of the host; for a client
that wants the metrics of a container its name as a host, if pmdaroot knows it.`,
		Value: func(ctx context.Context, r *pmda.Request, _ pdu.Instance) (string, error) {
			return p.Collector.HostnameFor(ctx, r.Client), nil
		},
	})
}

// abi returns the architecture as uname(1) and PCP call it.
func abi() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return runtime.GOARCH
}

// buildVersion returns the version of this module in the program.
func buildVersion() string { return cmp.Or(build.Version(), "devel") }

// addFeatures registers pmcd.feature.
func (p *pmcd) addFeatures() {
	for item, f := range []struct {
		name, text string
		has        func() bool
	}{
		{"pmcd.feature.secure", "Whether connections can be encrypted", p.Collector.Secure},
		{"pmcd.feature.compress", "Whether connections can be compressed", no},
		{"pmcd.feature.ipv6", "Whether IPv6 is supported", yes},
		{"pmcd.feature.authentication", "Whether clients can authenticate themselves", p.Collector.Authentication},
		{"pmcd.feature.creds_required", "Whether clients have to authenticate themselves", p.Collector.CredsRequired},
		{"pmcd.feature.unix_domain_sockets", "Whether local connections are supported", yes},
		{"pmcd.feature.service_discovery", "Whether the collector advertises itself", no},
		{"pmcd.feature.containers", "Whether an agent knows the containers of its clients", p.containers},
		{"pmcd.feature.local", "Whether clients of the same host alone are served", p.Collector.LocalOnly},
		{"pmcd.feature.client_cert_required", "Whether clients have to have a certificate", p.Collector.CertRequired},
	} {
		register(p, pmda.Metric[uint32]{
			Name: f.name, ID: pmda.Item(8, item), Text: f.text,
			Help: f.text + ": 1 if so, 0 if not.",
			Value: always(func() uint32 {
				if f.has() {
					return 1
				}
				return 0
			}),
		})
	}
}

func yes() bool { return true }
func no() bool  { return false }

// containers reports whether an agent uses the containers of clients.
func (p *pmcd) containers() bool {
	return slices.ContainsFunc(p.Collector.Agents(), func(a Agent) bool { return a.Containers })
}

func (p *pmcd) services() string {
	if p.RunDir != "" && pidFile(filepath.Join(p.RunDir, "pmproxy.pid")) != 0 {
		return "pmcd pmproxy"
	}
	return "pmcd"
}

package collector

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// ContextLabels has the sources of the labels of a client's context, which apply to all metrics of
// a collector. The sources are, in increasing precedence:
//
//	Dir, Dir/optional   files, each with a JSON object, in the order of their names
//	the host            hostname, domainname, machineid or machineid_sha256
//	the client          container, if it has chosen one; userid and groupid, if known
//
// The labels of Dir/optional, userid and groupid are optional labels. The zero value has the labels
// of the host and the client, and reads no files. Files are read at each request. ContextLabels is
// safe for concurrent use.
type ContextLabels struct {
	// Dir is the directory with label files. Empty means none. Files whose name starts with a dot,
	// files that cannot be parsed and labels with invalid names are skipped.
	Dir string
	// Conf is the settings file labels.conf, which need not exist. With "machineid_hash = sha256"
	// the label has the hash of the machine's id instead of the id.
	Conf string
	// MachineID is the file with the machine's id. If it is empty or cannot be read, the id is
	// "localmachine".
	MachineID string
	// Hostname returns the host's name. Nil means os.Hostname.
	Hostname func() (string, error)
	// DomainName returns the name of the host's NIS domain. Nil means the system's.
	DomainName func() string
}

// SystemLabels returns the sources of C pmcd: files below PCP's configuration directory, usually
// /etc/pcp, and /etc/machine-id. If the directory has no subdirectory labels, as without PCP,
// clients get an error instead of labels.
func SystemLabels(sysconf string) ContextLabels {
	return ContextLabels{
		Dir:       filepath.Join(sysconf, "labels"),
		Conf:      filepath.Join(sysconf, "labels.conf"),
		MachineID: "/etc/machine-id",
	}
}

// For returns the context labels of a client. For nil it returns those of the files and the host.
// It fails if Dir cannot be read.
func (l ContextLabels) For(c *pmda.Client) (pdu.LabelSet, error) {
	sets, _, err := l.files()
	if err != nil {
		return pdu.LabelSet{}, err
	}
	host := l.host()
	if c != nil && c.Container != "" {
		host["container"] = c.Container
	}
	set, err := pdu.MakeLabels(pdu.LabelContext, host, false)
	if err != nil {
		return pdu.LabelSet{}, err
	}
	sets = append(sets, set)
	if c != nil && c.UID >= 0 && c.GID >= 0 {
		set, err := pdu.ParseLabels(pdu.LabelContext, fmt.Sprintf(`{"groupid":%d,"userid":%d}`, c.GID, c.UID), true)
		if err != nil {
			return pdu.LabelSet{}, err
		}
		sets = append(sets, set)
	}
	return pdu.MergeLabels(nil, sets...)
}

// merged returns the labels from files, the value of pmcd.labels. The Server notifies clients of
// changes. skipped has an error for each skipped file or label.
func (l ContextLabels) merged() (set pdu.LabelSet, skipped []error, err error) {
	sets, skipped, err := l.files()
	if err != nil {
		return pdu.LabelSet{}, skipped, err
	}
	set, err = pdu.MergeLabels(nil, sets...)
	return set, skipped, err
}

// files returns the label sets of the files. As in C pmcd, all their labels count as compound.
func (l ContextLabels) files() (sets []pdu.LabelSet, skipped []error, err error) {
	if l.Dir == "" {
		return nil, nil, nil
	}
	sets, skipped, err = labelDir(l.Dir, false)
	if err != nil {
		return nil, nil, err
	}
	optional, more, err := labelDir(filepath.Join(l.Dir, "optional"), true)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the directory may be missing
		more = append(more, err)
	}
	return append(sets, optional...), append(skipped, more...), nil
}

// labelDir reads the label files in a directory.
func labelDir(dir string, optional bool) (sets []pdu.LabelSet, skipped []error, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if st, err := os.Stat(file); strings.HasPrefix(e.Name(), ".") || err == nil && !st.Mode().IsRegular() {
			continue
		}
		set, dropped, err := labelFile(file, optional)
		if err = cmp.Or(err, dropped); err != nil {
			skipped = append(skipped, fmt.Errorf("%s: %w", file, err))
		}
		if len(set.Labels) > 0 {
			sets = append(sets, set)
		}
	}
	return sets, skipped, nil
}

// labelFile reads a label file. dropped reports omitted labels.
func labelFile(file string, optional bool) (set pdu.LabelSet, dropped, err error) {
	f, err := os.Open(file)
	if err != nil {
		return pdu.LabelSet{}, nil, err
	}
	defer f.Close()
	const most = 16 * pdu.MaxLabelJSON // leaves room for white space
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return pdu.LabelSet{}, nil, err
	}
	set, err = pdu.ParseLabels(pdu.LabelContext, string(text), optional)
	for i := range set.Labels {
		set.Labels[i].Flags |= pdu.LabelCompound
	}
	return set, pdu.CheckLabelNames(string(text)), err
}

// host returns the labels that identify the host.
func (l ContextLabels) host() map[string]string {
	hostname, domain := l.Hostname, l.DomainName
	if hostname == nil {
		hostname = os.Hostname
	}
	if domain == nil {
		domain = domainName
	}
	name, err := hostname()
	if err != nil {
		name = "localhost"
	}
	labels := map[string]string{"hostname": name, "domainname": domain()}
	if d := labels["domainname"]; d == "" || d == "(none)" {
		labels["domainname"] = "localdomain"
	}
	id := cmp.Or(firstLine(l.MachineID), "localmachine")
	if l.hashed() {
		sum := sha256.Sum256([]byte(id))
		labels["machineid_sha256"] = hex.EncodeToString(sum[:])
	} else {
		labels["machineid"] = id
	}
	return labels
}

// hashed reports whether Conf has the setting for the hash of the machine's id.
func (l ContextLabels) hashed() (yes bool) {
	if l.Conf == "" {
		return false
	}
	f, err := os.Open(l.Conf)
	if err != nil {
		return false
	}
	defer f.Close()
	global := true
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			global = line == "[global]"
			continue
		}
		i := strings.IndexAny(line, "=:")
		if global && i >= 0 && strings.TrimSpace(line[:i]) == "machineid_hash" {
			yes = strings.TrimSpace(line[i+1:]) == "sha256"
		}
	}
	return yes
}

// firstLine returns the first line of a file, or an empty string if the file cannot be read.
func firstLine(file string) string {
	if file == "" {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	return lines.Text()
}

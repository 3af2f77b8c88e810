// Package sending is what the programs that send metrics on have in common: their options, their
// logins, and how they tell what they have done.
package sending

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// Options are those of the command line.
type Options struct {
	URL      string
	Labels   []export.Label
	Header   http.Header // with the login
	Strings  bool
	Queue    string // a directory
	MaxQueue int    // bytes
	Log      *slog.Logger

	// Client is one for the options of TLS; nil without any.
	Client *http.Client

	verbose                        bool
	user, passwordFile, bearerFile string
	caFile, certFile, keyFile      string
	insecure                       bool
	state                          string
	skipRefused                    bool
}

// maxQueueMByte is what --queue-size may be: as much as an int has bytes, everywhere.
const maxQueueMByte = 2047

// NewCommand makes a command with the common options, and those of one program.
func NewCommand(name string, o *Options, own ...tool.Option) *pcptool.Command {
	c := &pcptool.Command{Name: name, Synopsis: "[options] [metricname ...]"}
	o.Header = http.Header{}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	c.AddOptions("General options", c.Standard("archive", "debug", "host", "derived", "namespace", "samples", "start", "finish", "interval",
		"timezone", "hostzone", "version", "help")...)
	text := func(v *string) func(string) error { return func(s string) error { *v = s; return nil } }
	c.AddOptions("Sending options", append([]tool.Option{
		{Short: 'u', Long: "url", Arg: "URL", Help: "receiver of the metrics", Set: text(&o.URL)},
		{Short: 'l', Long: "label", Arg: "NAME=VALUE", Help: "add a label to all metrics", Set: o.addLabel},
		{Long: "strings", Help: "send strings, too, as labels", Set: tool.Flag(&o.Strings)},
		{Long: "queue", Arg: "DIR", Help: "keep what waits in this directory, also for the next run [default in memory]", Set: text(&o.Queue)},
		{Long: "queue-size", Arg: "MBYTE", Help: "let so much wait, then the oldest is dropped [default 64]", Set: o.setMaxQueue},
		{Short: 'v', Long: "verbose", Help: "print counts at the end", Set: tool.Flag(&o.verbose)},
	}, own...)...)
	c.AddOptions("Login options",
		tool.Option{Long: "user", Arg: "NAME", Help: "log in with this name and the password of --password-file", Set: text(&o.user)},
		tool.Option{Long: "password-file", Arg: "FILE", Help: "read the password from the first line of a file", Set: text(&o.passwordFile)},
		tool.Option{Long: "bearer-file", Arg: "FILE", Help: "log in with the token in the first line of a file", Set: text(&o.bearerFile)},
		tool.Option{Long: "header", Arg: "NAME: VALUE", Help: "add a header to requests", Set: o.addHeader},
		tool.Option{Long: "cacert", Arg: "FILE", Help: "trust receivers that these authorities certify [default the system's]", Set: text(&o.caFile)},
		tool.Option{Long: "cert", Arg: "FILE", Help: "show receivers this certificate", Set: text(&o.certFile)},
		tool.Option{Long: "key", Arg: "FILE", Help: "the key of --cert", Set: text(&o.keyFile)},
		tool.Option{Long: "insecure", Help: "trust any receiver", Set: tool.Flag(&o.insecure)})
	c.AddOptions("Archive options",
		tool.Option{Long: "state", Arg: "FILE", Help: "note in a file what has been sent, and go on after that", Set: text(&o.state)},
		tool.Option{Long: "skip-refused", Help: "leave out what the receiver refuses [default stop there]", Set: tool.Flag(&o.skipRefused)})
	return c
}

// Parse reads the command line and the files that it names. The operands are names of metrics.
func (o *Options) Parse(c *pcptool.Command, args []string) (names []string, err error) {
	if names, err = c.Parse(args); err != nil {
		return nil, err
	}
	if err := o.check(c); err != nil {
		return nil, c.UsageErrorf("%v", err)
	}
	if err := o.logIn(); err != nil {
		return nil, c.Errorf("%v", err)
	}
	if o.caFile != "" || o.certFile != "" || o.keyFile != "" || o.insecure {
		config, err := tlsconf.Files(o.caFile, o.certFile, o.keyFile)
		if err != nil {
			return nil, c.Errorf("%v", err)
		}
		config.InsecureSkipVerify = o.insecure
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = config
		o.Client = &http.Client{Transport: transport}
	}
	return names, nil
}

// check finds options that exclude each other, or that another one is missing for.
func (o *Options) check(c *pcptool.Command) error {
	archive := len(c.Archives()) > 0
	logins := 0
	for _, given := range []bool{o.user != "", o.bearerFile != "", o.Header.Get("Authorization") != ""} {
		if given {
			logins++
		}
	}
	switch {
	case archive && (c.Samples >= 0 || c.Interval > 0):
		return errors.New("all records of an archive are sent: -s and -t are for hosts")
	case archive && o.Queue != "":
		return errors.New("what an archive has needs no queue: --queue is for hosts, --state for archives")
	case !archive && (o.state != "" || o.skipRefused):
		return errors.New("--state and --skip-refused are for archives")
	case logins > 1:
		return errors.New("at most one of --user, --bearer-file and a header Authorization allowed")
	case (o.user == "") != (o.passwordFile == ""):
		return errors.New("--user and --password-file go together")
	}
	return nil
}

// logIn sets the header of the login.
func (o *Options) logIn() error {
	switch {
	case o.user != "":
		password, err := firstLine(o.passwordFile)
		if err != nil {
			return err
		}
		o.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(o.user+":"+password)))
	case o.bearerFile != "":
		token, err := firstLine(o.bearerFile)
		if err != nil {
			return err
		}
		o.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// firstLine is that of a file, which is a secret.
func firstLine(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: the first line is empty", path)
	}
	return line, nil
}

func (o *Options) addLabel(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return fmt.Errorf("--label %q: want NAME=VALUE", v)
	}
	o.Labels = append(o.Labels, export.Label{Name: name, Value: value})
	return nil
}

// addHeader adds a header. Its errors have no values, which may be secrets.
func (o *Options) addHeader(v string) error {
	name, value, ok := strings.Cut(v, ":")
	if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
		return errors.New("--header: want 'NAME: VALUE'")
	}
	o.Header.Add(name, strings.TrimSpace(value))
	return nil
}

func (o *Options) setMaxQueue(v string) error {
	var n int
	if err := tool.Number(&n, 1, "--queue-size requires a positive number of megabytes")(v); err != nil {
		return err
	}
	o.MaxQueue = min(n, maxQueueMByte) << 20
	return nil
}

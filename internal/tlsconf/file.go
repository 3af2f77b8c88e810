package tlsconf

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookAgain is how long a File does not look whether files have changed.
const lookAgain = time.Second

// A File is a configuration that follows its files. After a change of tls.conf, or of a file that
// it names, File uses the new content for new connections. It is safe for concurrent use.
type File struct {
	path    string
	make    func(Conf) (*tls.Config, error)
	changed func(error) // see NewServer
	require bool        // see Require

	mu      sync.Mutex
	conf    Conf
	stamps  [7]stamp
	current *tls.Config
	err     error
	looked  time.Time
}

// NewServer returns the configuration of a server in a file; an empty path is an empty file.
// changed, if not nil, is called when files have changed, with an error if they cannot be used: the
// server then keeps its configuration.
func NewServer(path string, changed func(error)) *File {
	return &File{path: path, make: Conf.Server, changed: changed}
}

// NewClient is the configuration of a client in a file.
func NewClient(path string) *File { return &File{path: path, make: Conf.Client} }

// Require makes a missing file an error, as for a path that a user has given. Without Require a
// missing file means no TLS, as in PCP. Call Require before other methods.
func (f *File) Require() { f.require = true }

// Path is the path of the file.
func (f *File) Path() string { return f.path }

// Settings returns the settings in use.
func (f *File) Settings() Conf {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conf
}

// Reload reads the files, and says why they cannot be used.
func (f *File) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load()
}

// load reads the files. It keeps the previous configuration if they cannot be used.
func (f *File) load() error {
	conf := Load(f.path)
	f.stamps, f.looked = f.stampsOf(conf), time.Now() // before they are read: what changes meanwhile is seen later
	var config *tls.Config
	var err error
	if f.require {
		err = readable(f.path)
	}
	if err == nil {
		config, err = f.make(conf)
	}
	f.err = err
	if err == nil {
		f.conf, f.current = conf, config
	}
	return err
}

// readable is why a file cannot be read.
func readable(path string) error {
	if _, err := readFile(path); err != nil {
		return &Error{fmt.Sprintf("Cannot read the TLS configuration (PCP_TLSCONF_PATH): %v: correct the variable or remove it", err), nil}
	}
	return nil
}

// Config returns the configuration of the current files; for a server without a certificate it is
// nil. It must not be changed.
func (f *File) Config() (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.current, f.err
}

// look loads files that have changed.
func (f *File) look() {
	switch {
	case f.looked.IsZero():
		f.load()
	case time.Since(f.looked) >= lookAgain:
		f.looked = time.Now()
		if f.stampsOf(Load(f.path)) != f.stamps {
			if err := f.load(); f.changed != nil {
				f.changed(err)
			}
		}
	}
}

// Serving returns a configuration for a server whose handshakes use the current files. It is nil if
// there is no certificate now.
func (f *File) Serving() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current == nil {
		return nil
	}
	c := f.current.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.look()
		return f.current, nil // if it is nil, c
	}
	return c
}

// A stamp identifies a version of a file.
type stamp struct {
	name string
	size int64
	mod  time.Time
}

func (f *File) stampsOf(c Conf) (s [7]stamp) {
	for i, path := range []string{f.path, c.CertFile, c.KeyFile, c.ClientCertFile, c.ClientKeyFile, c.CAFile, c.CADir} {
		s[i].name = path
		if path == "" {
			continue
		}
		if st, err := os.Stat(path); err == nil {
			s[i].size, s[i].mod = st.Size(), st.ModTime()
		}
	}
	return s
}

package mmv

import (
	"log/slog"

	"github.com/pcp-go/pcp/internal/loglimit"
)

// A problemLog is what a registry has logged of its problems. Registry.mu protects it.
type problemLog struct {
	on      bool         // the registry was published or served
	errs    int          // so many of Registry.errs
	file    [2]string    // what publication.err and clash said last, "" for none
	base    *slog.Logger // the one that limited was made of
	limited *slog.Logger // nil if nothing was logged
}

// unlock unlocks r.mu, and then logs what went wrong meanwhile: the handler of the log may need the
// lock.
func (r *Registry) unlock() {
	news := r.news()
	log := r.log.limited
	r.mu.Unlock()
	for _, err := range news {
		log.Warn("instrumentation", slog.String("registry", r.Name), slog.Any("err", err))
	}
}

// news returns the problems to log now.
func (r *Registry) news() (news []error) {
	l := &r.log
	if !l.on {
		return nil
	}
	news = append(news, r.errs[l.errs:]...)
	l.errs = len(r.errs)
	for i, err := range [...]error{r.file.err, r.file.clash} {
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != l.file[i] && err != nil {
			news = append(news, err)
		}
		l.file[i] = text
	}
	if len(news) > 0 {
		base := r.Logger
		if base == nil {
			base = slog.Default()
		}
		if base != l.base {
			l.base, l.limited = base, loglimit.New(base)
		}
	}
	return news
}

// flushLog logs how many problems were left out.
func (r *Registry) flushLog() {
	r.mu.Lock()
	log := r.log.limited
	r.unlock()
	if log != nil {
		loglimit.Flush(log)
	}
}

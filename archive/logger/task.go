package logger

import (
	"cmp"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Task is a set of metrics with the same Setting, which are recorded together.
type Task struct {
	Setting
	Metrics []TaskMetric
}

// A TaskMetric is a metric of a Task.
type TaskMetric struct {
	Name      string
	PMID      pdu.PMID
	Instances []pdu.InstID // nil for all
}

// A task is the state of a Task.
type task struct {
	setting   Setting
	members   []member
	groups    []*group
	base      time.Time // the task is due at multiples of the interval after base
	due       time.Time
	once      bool // it records only once, and has done so
	told      bool // Recorded was reported
	replanned bool // runTask has begun again with other groups
}

// A member is a metric of a task.
type member struct {
	*metric
	*request
}

// A group is a set of metrics of a task that are fetched together.
type group struct {
	task    *task
	metrics []*metric
	ids     []pdu.PMID
	several []int // indexes of the metrics with instances or events
	profile *pdu.Profile
	result  pdu.Result

	derived   bool // some are derived metrics
	described bool // the archive has all metadata that does not change
	recorded  bool
	stale     bool // a later plan has replaced the group
}

// startDelay delays the first record of tasks with an interval, so that metrics that are recorded
// once come first.
const startDelay = 20 * time.Millisecond

// plan makes tasks from the settings of all metrics. Existing tasks keep their times.
func (l *Logger) plan() {
	now := time.Now()
	old := l.tasks
	for _, t := range old {
		for _, g := range t.groups {
			g.stale = true
		}
	}
	l.tasks = nil
	for _, m := range l.order {
		for _, r := range m.requests {
			if r.State == On && !r.done && !m.changed {
				t := l.taskFor(r.Setting, old, now)
				t.members = append(t.members, member{m, r})
			}
		}
	}
	slices.SortStableFunc(l.tasks, func(a, b *task) int {
		return cmp.Compare(min(a.setting.Interval, 1), min(b.setting.Interval, 1))
	})
	for _, t := range l.tasks {
		t.makeGroups()
	}
}

// taskFor returns the task with a setting. It makes a new one if necessary.
func (l *Logger) taskFor(s Setting, old []*task, now time.Time) *task {
	has := func(t *task) bool { return t.setting == s }
	if i := slices.IndexFunc(l.tasks, has); i >= 0 {
		return l.tasks[i]
	}
	var t *task
	if i := slices.IndexFunc(old, has); i >= 0 && l.running && s.Interval > 0 {
		t = old[i]
		t.members = nil
	} else {
		t = &task{setting: s, base: now, due: now}
		if s.Interval > 0 && !l.running {
			t.base = now.Add(startDelay)
			t.due = t.base
		}
	}
	l.tasks = append(l.tasks, t)
	return t
}

// makeGroups puts each metric into the group that fits best, or into a new one. The newest group
// comes first. As far as can be observed, pmlogger(1) does the same.
func (t *task) makeGroups() {
	t.groups = nil
	slices.SortStableFunc(t.members, func(a, b member) int { return cmp.Compare(a.order, b.order) })
	for _, m := range t.members {
		g := t.groupFor(m)
		if g == nil {
			g = &group{task: t, profile: new(pdu.Profile)}
			t.groups = slices.Insert(t.groups, 0, g)
		}
		g.add(m)
	}
	for _, g := range t.groups {
		slices.SortStableFunc(g.metrics, func(a, b *metric) int { return cmp.Compare(b.desc.PMID, a.desc.PMID) })
		for i, m := range g.metrics {
			g.ids = append(g.ids, m.desc.PMID)
			g.derived = g.derived || m.desc.PMID.IsDerived()
			if m.desc.InDom != pdu.NoInDom || m.event {
				g.several = append(g.several, i)
			}
		}
	}
}

// groupFor returns the group for a metric, or nil if no group fits. The first choice is a group
// that already has the instance domain of the metric, if both select all instances or both select
// some. The second choice is the smallest group without the domain, and of several the newest.
func (t *task) groupFor(m member) (best *group) {
	d := m.desc.InDom
	for _, g := range t.groups {
		has := d != pdu.NoInDom && slices.ContainsFunc(g.metrics, func(have *metric) bool { return have.desc.InDom == d })
		switch {
		case has && g.profile.For(d).All() == (m.insts == nil):
			return g
		case !has && (best == nil || len(g.metrics) < len(best.metrics)):
			best = g
		}
	}
	return best
}

// add adds a metric. The profile selects the instances that any of the metrics wants.
func (g *group) add(m member) {
	d := m.desc.InDom
	if m.insts != nil {
		if g.profile.For(d).All() {
			_ = g.profile.Delete(d) // cannot fail, because d is not NoInDom
		}
		_ = g.profile.Add(d, m.insts...)
	}
	g.metrics = append(g.metrics, m.metric)
}

// next sets due to the first time of a task after now.
func (t *task) next(now time.Time) {
	n := now.Sub(t.base)/t.setting.Interval + 1
	t.due = t.base.Add(n * t.setting.Interval)
}

// public returns the task for callers of the package.
func (t *task) public() Task {
	p := Task{Setting: t.setting, Metrics: make([]TaskMetric, len(t.members))}
	for i, m := range t.members {
		p.Metrics[i] = TaskMetric{m.name, m.desc.PMID, slices.Clone(m.insts)}
	}
	return p
}

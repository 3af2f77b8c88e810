package mmv

// A Vec is a metric over an instance domain: a handle of type H for each instance.
type Vec[H any] struct {
	registry *Registry
	dom      *InDom
	handles  table[H]
	create   func(where uintptr, in *instance) *H
}

// With returns the handle for an instance and adds the instance to the domain if it is new. It
// returns the same handle for the same name. Finding a handle takes no lock and allocates nothing.
// A program may keep a handle that it uses often.
func (v *Vec[H]) With(instance string) *H {
	if h := v.handles.get(instance); h != nil {
		return h
	}
	return v.add(instance)
}

func (v *Vec[H]) add(name string) *H {
	r := v.registry
	r.mu.Lock()
	defer r.unlock()
	if h := v.handles.get(name); h != nil {
		return h
	}
	where := r.start()
	h := v.create(where, v.dom.instance(where, name, autoID))
	v.handles.put(name, h)
	r.grow()
	return h
}

// newVec returns a Vec that makes its handles with create.
func newVec[H any](d *InDom, create func(where uintptr, in *instance) *H) *Vec[H] {
	v := &Vec[H]{registry: d.registry, dom: d, create: create}
	d.drop = append(d.drop, v.handles.remove)
	return v
}

// vec registers a metric over d. cellOf is the cell of a handle.
func vec[H any](d *InDom, name string, spec Metric, k class, cellOf func(*H) *cell) *Vec[H] {
	r := d.registry
	r.mu.Lock()
	defer r.unlock()
	m := r.metric(r.start(), name, spec, k, d)
	r.grow()
	return newVec(d, func(_ uintptr, in *instance) *H {
		h := new(H)
		c := cellOf(h)
		c.init(m, in)
		r.add(c)
		return h
	})
}

// Counter registers a metric over the domain.
func (d *InDom) Counter(name string, m Metric) *Vec[Counter] {
	return vec(d, name, m, counterClass, func(c *Counter) *cell { return &c.cell })
}

// FloatCounter registers a metric over the domain.
func (d *InDom) FloatCounter(name string, m Metric) *Vec[FloatCounter] {
	return vec(d, name, m, floatCounterClass, func(c *FloatCounter) *cell { return &c.cell })
}

// Gauge registers a metric over the domain.
func (d *InDom) Gauge(name string, m Metric) *Vec[Gauge] {
	return vec(d, name, m, gaugeClass, func(g *Gauge) *cell { return &g.cell })
}

// FloatGauge registers a metric over the domain.
func (d *InDom) FloatGauge(name string, m Metric) *Vec[FloatGauge] {
	return vec(d, name, m, floatGaugeClass, func(g *FloatGauge) *cell { return &g.cell })
}

// Timer registers a metric over the domain.
func (d *InDom) Timer(name string, m Metric) *Vec[Timer] {
	return vec(d, name, m, timerClass, func(t *Timer) *cell { return &t.cell })
}

// Text registers a metric over the domain.
func (d *InDom) Text(name string, m Metric) *Vec[Text] {
	return vec(d, name, m, textClass, func(t *Text) *cell { return &t.cell })
}

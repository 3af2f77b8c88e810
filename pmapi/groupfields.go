package pmapi

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// AddFields adds the metrics that the tags of a struct name to a group; v points to the struct.
// Fields with the tag pcp are Items, Sets and Trees, and are filled by each Fetch as those that
// Add, AddSet and AddTree return; others are left alone.
//
//	var disks struct {
//		Load pmapi.Item[float64] `pcp:"kernel.all.load[1 minute]"`
//		Read pmapi.Set[float64]  `pcp:"disk.dev.read_bytes" scale:"Mbyte/second"`
//	}
//	err := pmapi.AddFields(g, &disks)
//
// The tag pcp is the name of a metric, with that of an instance in brackets for an Item that needs
// one; the tag scale is the text of Scale. A value stays with its field, so that a struct that was
// added must not be copied. Errors, all of them mistakes in the program: pdu.ErrArg if v is not a
// pointer to a struct, for a tag on a field that is unexported, of another
// type or in a group already, and for brackets that do not fit. Nothing is added then.
func AddFields(g *Group, v any) error {
	s := reflect.ValueOf(v)
	if s.Kind() != reflect.Pointer || s.IsNil() || s.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("pmapi: AddFields: %T is no pointer to a struct: %w", v, pdu.ErrArg)
	}
	s = s.Elem()
	var adds []func()
	for i := range s.NumField() {
		field := s.Type().Field(i)
		tag, ok := field.Tag.Lookup("pcp")
		if !ok {
			continue
		}
		add, err := fieldAdder(g, field, s.Field(i), tag)
		if err != nil {
			return fmt.Errorf("pmapi: AddFields: field %s of %v: %w: %w", field.Name, s.Type(), err, pdu.ErrArg)
		}
		adds = append(adds, add)
	}
	for _, add := range adds {
		add()
	}
	return nil
}

// A fieldMember is an Item, a Set or a Tree.
type fieldMember interface {
	addTo(g *Group, name string, opts []ItemOption)
	isAdded() bool
}

// fieldAdder makes the function that adds a field.
func fieldAdder(g *Group, field reflect.StructField, v reflect.Value, tag string) (func(), error) {
	if !field.IsExported() {
		return nil, errors.New("it is not exported")
	}
	m, ok := v.Addr().Interface().(fieldMember)
	switch {
	case !ok:
		return nil, fmt.Errorf("a %v is no Item, Set or Tree", field.Type)
	case m.isAdded():
		return nil, errors.New("it is in a group already")
	}
	var opts []ItemOption
	name, rest, ok := strings.Cut(tag, "[") // a name of an instance may have any bracket within
	if ok {
		instance, closed := strings.CutSuffix(rest, "]")
		if !closed {
			return nil, fmt.Errorf("tag %q does not end with ]", tag)
		}
		opts = append(opts, Instance(instance))
	}
	if scale, ok := field.Tag.Lookup("scale"); ok {
		opts = append(opts, Scale(scale))
	}
	return func() { m.addTo(g, name, opts) }, nil
}

func (i *Item[T]) addTo(g *Group, name string, opts []ItemOption) {
	add[T](g, i, name, "", opts)
}

func (s *Set[T]) addTo(g *Group, name string, opts []ItemOption) {
	add[T](g, s, name, "", opts)
}

func (i *Item[T]) isAdded() bool { return i.g != nil }

func (s *Set[T]) isAdded() bool { return s.g != nil }

func (t *Tree[T]) isAdded() bool { return t.g != nil }

package pmapi

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// AddFields adds the metrics in the tags of a struct to a group; v points to the struct. A field
// with the tag pcp must be an Item, a Set or a Tree. It then works like the result of Add, AddSet
// or AddTree. Other fields are ignored.
//
//	var disks struct {
//		Load pmapi.Item[float64] `pcp:"kernel.all.load[1 minute]"`
//		Read pmapi.Set[float64]  `pcp:"disk.dev.read_bytes" scale:"Mbyte/second"`
//	}
//	err := pmapi.AddFields(g, &disks)
//
// The tag pcp is the name of a metric, followed by the name of an instance in brackets for an Item
// that needs one. The tag scale is the text of Scale. The group refers to the fields, so the struct
// must not be copied after AddFields.
//
// All errors are mistakes in the program and wrap pdu.ErrArg: v is not a pointer to a struct, a
// bracket is not closed, or a field with the tag is unexported, of another type or already in a
// group. With an error nothing is added.
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
	name, rest, ok := strings.Cut(tag, "[") // the name of an instance may contain brackets
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

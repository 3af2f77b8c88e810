// Package pmapi is for programs that look at metrics: it asks collectors about
// them, in other processes and in this one.
//
//	c, err := pmapi.Dial(ctx, "web1.example.com")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	ids, err := c.Lookup(ctx, []string{"kernel.all.load", "hinv.ncpu"})
//	if err != nil {
//		return err
//	}
//	var r pdu.Result
//	if err := c.Fetch(ctx, ids, &r); err != nil {
//		return err
//	}
//	for inst, v := range r.At(0).All(pdu.TypeFloat) {
//		fmt.Println(inst, v)
//	}
//
// # Contexts
//
// A Context is one connection. Its methods ask one thing each: names (Lookup,
// Names, Children, Traverse), what metrics are (Desc, Text, Labels), instance
// domains (Instances, InstID, InstName), values (Fetch, Store). They ask the
// collector each time: what a collector says of names, descriptors and instances
// may change while nobody is told. A profile (AddProfile, DelProfile, SetProfile)
// says which instances fetches return.
//
// A Dialer holds what can be chosen: time-outs, ports, a name space of one's own,
// whether contexts survive the loss of their connection. DialerFromEnv makes one from the
// environment, as the C tools use it; nothing else here reads that.
//
// # Errors
//
// They wrap pdu.Error, the number on the wire, in an OpError that says where:
// errors.Is(err, pdu.ErrName), pdu.FromError(err). Several names or metrics in one
// question that fail in part give what there is, and an error. The end of a
// context.Context is wrapped as its cause.
//
// # Concurrency
//
// A Context, and a Dialer once it is filled in, are safe for concurrent use.
//
// # The C names
//
//	pmNewContext, pmDestroyContext         Dial, Dialer.Dial, Context.Close
//	pmDupContext, pmReconnectContext       Context.Dup, Context.Reconnect
//	pmGetContextHostName                   Context.HostName
//	pmLookupName                           Context.Lookup
//	pmNameID, pmNameAll                    Context.Name, Context.Names
//	pmGetChildren, pmGetChildrenStatus     Context.Children
//	pmTraversePMNS                         Context.Traverse
//	pmGetPMNSLocation, pmLoadNameSpace     Context.NamesLocation, Dialer.Names
//	pmLookupDesc, pmLookupDescs            Context.Desc, Context.Descs
//	pmGetInDom                             Context.Instances
//	pmLookupInDom, pmNameInDom             Context.InstID, Context.InstName
//	pmLookupText, pmLookupInDomText        Context.Text, Context.InDomText
//	pmLookupLabels, pmGet…Labels           Context.Labels, …
//	pmAddProfile, pmDelProfile             Context.AddProfile, Context.DelProfile
//	pmFetch, pmFetchHighRes                Context.Fetch
//	pmStore                                Context.Store
//	event.flags, event.missed              pdu.EventFlagsPMID, pdu.EventMissedPMID: every context has them
//	pmExtractValue, pmMergeLabelSets       pdu.As, pdu.MergeLabels
//	pmConvScale, pmPrintValue, pmNumberStr pdu.Atom.ConvertUnits, pdu.ValueFormat, pdu.FormatNumber
//	pmCreateFetchGroup, pmClearFetchGroup  Context.Group
//	pmExtendFetchGroup_item, …_indom       Add, AddSet
//	pmExtendFetchGroup_event               AddEvents
//	pmFetchGroup, …_timestamp              Group.Fetch, Group.Every
package pmapi

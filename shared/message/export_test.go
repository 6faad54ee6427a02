package message

// Head is what each control message has beside its event.
type Head = head

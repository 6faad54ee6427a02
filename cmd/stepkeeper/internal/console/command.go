package console

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// maxForm is the maximum size of a form in bytes. A form may contain the output of a step, and the encoding
// may need three bytes for each byte of the output.
const maxForm = 3*core.MaxOutput + 16<<10

// command sends the command of a form to an order. It redirects to the order's page, which shows the result.
func (s *server) command(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	command := commandID(id, r.PostForm)
	v, err := s.commandOf(r.Context(), id, r, command)
	s.outcomes.Add(command, &outcome{err == nil && v.Accepted, outcomeText(v, err)})
	s.Log.Info("command of the console", "order", id, "kind", r.PostFormValue("kind"), "accepted",
		err == nil && v.Accepted)
	http.Redirect(w, r, "/orders/"+url.PathEscape(id)+"?"+url.Values{"command": {command}}.Encode(),
		http.StatusSeeOther)
}

func (s *server) refuse(w http.ResponseWriter, r *http.Request, status int, what, do string) {
	s.page(func(context.Context, *http.Request, *kept) (content, error) {
		return refusal("Refused", status, what, do), nil
	})(w, r)
}

// mayAct reports whether the server may act on a form. If not, mayAct shows a page with the reason.
func (s *server) mayAct(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	var over *http.MaxBytesError
	switch {
	case s.ReadOnly:
		s.refuse(w, r, http.StatusForbidden, "This console only reads (--read-only).",
			"Use the command line, or a console without --read-only.")
	case errors.As(err, &over):
		s.refuse(w, r, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("The form is larger than %d bytes.", over.Limit), "Go back, and send a shorter text.")
	case err != nil:
		s.refuse(w, r, http.StatusBadRequest, "The form cannot be read.", "Go back, and send it again.")
	case subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(s.secret)) != 1:
		s.refuse(w, r, http.StatusForbidden,
			"The form is not from this console, or the console was restarted after the page was loaded.",
			"Open the order's page again, and repeat the action there.")
	default:
		return true
	}
	return false
}

func wholeNumber(form url.Values, name string) (int, error) {
	n, err := strconv.Atoi(form.Get(name))
	if err != nil {
		return 0, fmt.Errorf("%w: %s is %.40q; write a whole number", client.ErrInvalid, name,
			form.Get(name))
	}
	return n, nil
}

// outcome is the result of a command, kept for the next page.
type outcome struct {
	Accepted bool
	Text     string
}

func outcomeText(v client.Verdict, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case !v.Accepted:
		return v.Command + " was refused: " + v.Reason
	case v.Reason != "":
		return v.Command + " was accepted: " + v.Reason
	}
	return v.Command + " was accepted"
}

// forms is the UUID name space of commandID.
var forms = uuid.MustParse("7b0f1c52-6f0e-4b53-9d63-3f0c6f2a1a77")

// commandID returns the command ID for a form. Equal forms get the same ID. If a browser sends a form twice,
// the form therefore counts as one command (P5, commands have a number and an ID).
func commandID(order string, form url.Values) string {
	name := order
	for _, field := range []string{
		"kind", "number", "step", "fact", "run", "round", "value", "input",
		"output", "definition", "by", "reason",
	} {
		name += "\x00" + form.Get(field)
	}
	return uuid.NewSHA1(forms, []byte(name)).String()
}

package examples_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// signedUp returns the order, and the link of the mail.
func signedUp(t *testing.T) (*workflowtest.Run, string) {
	w := workflowtest.New(t, "signup/signup.yaml").AllowUnscripted()
	run := w.Submit(map[string]any{"email": "ann@shop.example"})
	run.UntilStep("confirmed", workflowtest.Waiting, time.Minute)
	var mail struct{ Link string }
	require.NoError(t, run.Calls("mail.ask")[0].Into(&mail))
	return run, mail.Link
}

func TestTheLinkIsFollowed(t *testing.T) {
	run, link := signedUp(t)
	status, page := run.AnswerLink(link, "that is me")
	require.Equal(t, http.StatusOK, status, page)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("mail.welcome", 1)
}

// Somebody else's address: the user is removed, and nobody is welcomed.
func TestAnAddressOfSomebodyElse(t *testing.T) {
	run, link := signedUp(t)
	status, page := run.AnswerLink(link, "not me")
	require.Equal(t, http.StatusOK, status, page)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectCalls("users.remove", 1)
	run.ExpectCalls("mail.welcome", 0)
}

func TestNobodyFollowsTheLink(t *testing.T) {
	run, link := signedUp(t)
	run.UntilEnd(25 * time.Hour)
	run.ExpectCompensated()
	status, _ := run.AnswerLink(link, "that is me")
	require.NotEqual(t, http.StatusOK, status)
}

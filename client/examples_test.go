package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
)

// An application submits an order and waits for its end. A second submission with the same ID has no effect.
func ExampleClient_Submit() {
	address, stop := devServer() // In production, the address of your server.
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	c, err := client.New(address)
	if err != nil {
		panic(err)
	}
	order := client.Order{ID: "o-1", Workflow: "order", Content: json.RawMessage(`{"total": 42}`)}
	for range 2 {
		if _, err := c.Submit(ctx, order); err != nil {
			panic(err)
		}
	}
	task, err := c.Wait(ctx, "o-1")
	if err != nil {
		panic(err)
	}
	fmt.Println(task.State)
	// Output: Processed
}

// List reads all pages. It stops when the loop stops.
func ExampleClient_List() {
	address, stop := devServer() // In production, the address of your server.
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	c, err := client.New(address)
	if err != nil {
		panic(err)
	}
	for _, id := range []string{"o-1", "o-2"} {
		order := client.Order{ID: id, Workflow: "order", Content: json.RawMessage(`{}`)}
		if _, err := c.Run(ctx, order); err != nil {
			panic(err)
		}
	}
	for order, err := range c.List(ctx, client.Query{State: "Processed"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(order.OrderID)
	}
	// Unordered output:
	// o-1
	// o-2
}

// devServer starts the server of `stepkeeper dev`.
func devServer() (address string, stop func()) {
	folder, err := os.MkdirTemp("", "stepkeeper-example-")
	if err != nil {
		panic(err)
	}
	address, end, err := started(folder, nil)
	if err != nil {
		panic(err)
	}
	return address, func() { _ = errors.Join(end(), os.RemoveAll(folder)) }
}

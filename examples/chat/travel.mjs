// The tools of the chat: one looks for flights, one books and needs approval.
import { createTool, toolError } from "haft";
import { z } from "zod";

const flights = [
  { number: "HF 12", to: "Lisbon", departs: "08:40", price: 129 },
  { number: "HF 16", to: "Lisbon", departs: "17:05", price: 94 },
  { number: "HF 31", to: "Oslo", departs: "11:20", price: 158 },
];
/** All bookings that were made. */
export const bookings = [];

export const findFlights = createTool({
  name: "find_flights",
  description: "Lists tomorrow's flights to a city.",
  kind: "readonly",
  inputSchema: z.object({ to: z.string() }),
  execute: ({ to }) => flights.filter((flight) => flight.to.toLowerCase() === to.toLowerCase()),
});

export const bookFlight = createTool({
  name: "book_flight",
  description: "Books a flight and pays for it.",
  kind: "write",
  needsApproval: true,
  inputSchema: z.object({ number: z.string() }),
  execute({ number }) {
    const flight = flights.find((each) => each.number === number);
    if (!flight) throw toolError("invalid_input", `There is no flight ${number}`, { next: "Call find_flights." });
    bookings.push(flight);
    return flight;
  },
});

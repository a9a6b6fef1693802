"""The live service: masked reports in, aggregates with honest error bars out, rewards booked. No raw reading enters."""

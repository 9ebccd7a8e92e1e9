"""The concave problem: softmax choices with a linear objective."""

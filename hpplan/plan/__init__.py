"""What a frozen plan is: fields, placements, rules and strategies."""

"""What two documents of one kind say differently: plans, and routing tables."""
